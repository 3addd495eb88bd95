"""What lanes multiply by and add: weights and parameters in wide memory as the operands of a matrix product.

Working them out takes longer than to use them once. Many instructions, and all tiles that an instruction goes to,
mostly find the same bytes at the same addresses; what was made of bytes may serve again where the same bytes are found.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import FLOAT32_EXACT, exact_products
from tilesim.arithmetic.scaler import Scaler, scaler
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.units.tensor.windows import Range

EIGHT = 8
"""Bytes that are compared at once: a memory that columns are made of is a multiple of them."""
LARGEST = 256
"""No byte is larger, less a zero point."""
BLOCK_ELEMENTS = 1 << 14
"""Elements whose magnitudes are added up at once: these stay in the processor's cache."""
NEAR_BYTES = 512
MOST_BYTES = 48 << 20
"""What is kept in all; what was used longest ago goes first."""


class LaneWeights(Struct, frozen=True):
    """A column for each lane of each block of lanes.

    ``weights``: float32 (products, columns), less their zero point; float64 for operands of 16 bits. ``correction``:
    int64 (columns,), what the input's zero point adds to each sum. ``parameters``: int32 (3, columns), or 4 with two of
    the bias. ``at_once``: how many products floats add up exactly. ``bound``: one of all
    sums, but for the correction.
    """

    weights: NDArray[np.float32] | NDArray[np.float64]
    correction: NDArray[np.int64]
    parameters: NDArray[np.int32] | None
    at_once: int
    bound: int
    _scalers: dict[Range, Scaler | None] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        return self.weights.nbytes

    def scaler(self, op: TensorOp, columns: Range) -> Scaler | None:
        """What makes output bytes of the sums of some columns, if it is known to be exact."""
        if self.parameters is None:
            return None
        if columns not in self._scalers:
            everything = (0, self.correction.size)
            whole = self._whole_scaler(op, self.parameters) if columns == everything else self.scaler(op, everything)
            self._scalers[columns] = whole if whole is None or columns == everything else whole.part(*columns)
        return self._scalers[columns]

    def _whole_scaler(self, op: TensorOp, parameters: NDArray[np.int32]) -> Scaler | None:
        bias, multiplier, shift = parameters
        offsets = self.correction + bias
        return scaler(op.rule, self.bound, offsets, multiplier, shift, op.output_zero_point, op.clamp)


def added_up(weights: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[Any]:
    """The sum of each column of bytes less a zero point, or of 16 bits, as whole numbers in floats."""
    if len(weights) > FLOAT32_EXACT // LARGEST:
        return np.asarray(np.add.reduce(weights, axis=0, dtype=np.float64))
    return np.asarray(np.ones(len(weights), weights.dtype) @ weights)


def products_at_once(
    weights: NDArray[np.float32] | NDArray[np.float64], bounds: tuple[int, int], exact: int = FLOAT32_EXACT
) -> tuple[int, int]:
    """How many products floats that are ``exact`` up to there add up exactly, and a bound of all sums; ``bounds`` are
    those of inputs and weights.
    """
    input_bound, weight_bound = bounds
    if (bound := len(weights) * input_bound * weight_bound) <= exact:  # whatever the weights are
        return len(weights), bound
    bound = input_bound * _largest_sum(weights)
    if bound <= exact:
        return len(weights), bound
    return exact_products(input_bound, weight_bound, exact), bound


def _largest_sum(weights: NDArray[np.float32] | NDArray[np.float64]) -> int:
    """Of the magnitudes in a column."""
    step = max(1, BLOCK_ELEMENTS // weights.shape[1])
    blocks = (weights[first : first + step] for first in range(0, len(weights), step))
    sums = sum(added_up(np.abs(block)).astype(np.float64) for block in blocks)
    return int(np.max(sums))


class CacheEntry(Struct, eq=False):
    """Weights of lanes, and the bytes in ``ranges`` that they were made of."""

    ranges: tuple[Range, ...]
    blocks: list[NDArray[np.uint64]] = field(default_factory=list)
    weights: LaneWeights | None = None

    def alike(self, wide: Bytes, blocks: list[NDArray[np.uint64]]) -> bool:
        """Whether all samples of ``wide`` have these bytes."""
        spans = (wide[:, low:end].view(np.uint64) for low, end in self.ranges)
        return all((span == block).all() for span, block in zip(spans, blocks, strict=True))

    def matches(self, blocks: list[NDArray[np.uint64]]) -> bool:
        return bool(self.blocks) and all((a == b).all() for a, b in zip(self.blocks, blocks, strict=True))


class WeightCache:
    """Weights of lanes made of bytes of wide memory, by what tells how they were made."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, CacheEntry] = {}
        self._used: OrderedDict[CacheEntry, None] = OrderedDict()
        self._size_bytes = 0

    def entry(self, key: Hashable, ranges: tuple[Range, ...]) -> CacheEntry:
        """The place for columns made of the bytes in ``ranges``, in multiples of 8, in the way ``key`` tells."""
        return self._entries.setdefault((key, ranges), CacheEntry(ranges))

    def lookup(
        self, entry: CacheEntry, wide: Sequence[Bytes], make: Callable[[Bytes], LaneWeights]
    ) -> LaneWeights | None:
        """What ``make`` makes of one sample's bytes, (1, bytes), of the blocks ``wide``; None if the samples' bytes
        differ.
        """
        blocks = [wide[0][0, low:end].view(np.uint64) for low, end in entry.ranges]
        if not all(entry.alike(block, blocks) for block in wide if len(wide) > 1 or len(block) > 1):
            return None
        if entry.weights is not None and entry.matches(blocks):
            self._used.move_to_end(entry)
            return entry.weights
        self._drop(entry)
        weights = entry.weights = make(wide[0][:1])
        entry.blocks = [block.copy() for block in blocks]
        self._used[entry] = None
        self._size_bytes += weights.size_bytes
        while self._size_bytes > MOST_BYTES and len(self._used) > 1:
            self._drop(next(iter(self._used)))
        return weights

    def _drop(self, entry: CacheEntry) -> None:
        if entry.weights is not None:
            self._size_bytes -= entry.weights.size_bytes
            del self._used[entry]
            entry.weights, entry.blocks = None, []


def joined(spans: Sequence[Range]) -> tuple[Range, ...]:
    """The spans in multiples of 8 bytes, as one if they hardly lie apart."""
    low, end = min(low for low, _ in spans), max(end for _, end in spans)
    if end - low <= sum(end - low for low, end in spans) + NEAR_BYTES:
        return (in_eights((low, end)),)
    return tuple(in_eights(span) for span in spans)


def in_eights(span: Range) -> Range:
    """The span, widened to multiples of 8 bytes."""
    return span[0] & ~(EIGHT - 1), -(-span[1] // EIGHT) * EIGHT
