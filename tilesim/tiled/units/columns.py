"""What lanes multiply by and add: weights and parameters in wide memory as the operands of a matrix product.

Working them out takes longer than to use them once. Many instructions, and all tiles that an instruction goes to, mostly
find the same bytes at the same addresses; what was made of bytes may serve again where the same bytes are found.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import FLOAT32_EXACT
from tilesim.arithmetic.scaler import Scaler, scaler
from tilesim.sim.memory import Bytes
from tilesim.tiled.isa.instructions import TensorOp
from tilesim.tiled.units.views import Range

KEPT_BYTES = 48 << 20
"""What is kept in all; what was used longest ago goes first."""


@dataclass(frozen=True)
class Columns:
    """A column for each lane of each block of lanes.

    ``weights``: float32 (products, columns), less their zero point. ``correction``: int64 (columns,), what the input's
    zero point adds to each sum. ``parameters``: int32 (3, columns). ``at_once``: how many products float32 adds up
    exactly. ``bound``: of all sums, but for the correction.
    """

    weights: NDArray[np.float32]
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
            part = slice(*columns)
            bias, multiplier, shift = self.parameters[:, part]
            offsets = self.correction[part] + bias
            self._scalers[columns] = scaler(
                op.rule, self.bound, offsets, multiplier, shift, op.output_zero_point, op.clamp
            )
        return self._scalers[columns]


def products_at_once(weights: NDArray[np.float32], input_bound: int) -> tuple[int, int]:
    """How many products with inputs up to ``input_bound`` float32 adds up exactly, and the bound of all sums."""
    magnitudes = np.abs(weights)
    bound = input_bound * int(np.add.reduce(magnitudes, axis=0, dtype=np.float64).max())
    if bound <= FLOAT32_EXACT:
        return len(weights), bound
    return int(FLOAT32_EXACT // (input_bound * max(1.0, float(magnitudes.max())))), bound


class Kept:
    """Columns made of bytes of wide memory, by what tells how they were made."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[list[Bytes], Columns]] = OrderedDict()
        self._size_bytes = 0

    def columns(
        self, key: Hashable, ranges: Sequence[Range], wide: Bytes, make: Callable[[Bytes], Columns]
    ) -> Columns | None:
        """What ``make`` makes of the bytes of ``wide`` in ``ranges``; None if the samples' bytes differ.

        Args:
            key: equal for calls whose ``ranges`` are the same and whose ``make`` makes the same of the same bytes.
            ranges: all bytes that ``make`` looks at, in multiples of 8.
            wide: wide memory, (samples, bytes).
            make: gets one sample's bytes, (1, bytes).
        """
        found = [wide[:, low:end].view(np.uint64) for low, end in ranges]
        if len(wide) > 1 and not all((each[1:] == each[0]).all() for each in found):
            return None
        kept = self._kept.get(key)
        if kept is not None and all((a[0] == b).all() for a, b in zip(found, kept[0], strict=True)):
            self._kept.move_to_end(key)
            return kept[1]
        columns = make(wide[:1])
        self._keep(key, [each[0].copy() for each in found], columns)
        return columns

    def _keep(self, key: Hashable, found: list[NDArray[Any]], columns: Columns) -> None:
        if key in self._kept:
            self._size_bytes -= self._kept.pop(key)[1].size_bytes
        self._kept[key] = found, columns
        self._size_bytes += columns.size_bytes
        while self._size_bytes > KEPT_BYTES and len(self._kept) > 1:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._size_bytes -= oldest.size_bytes


def in_eights(span: Range, size_bytes: int) -> Range:
    """The span, widened to multiples of 8 bytes."""
    return span[0] & ~7, min(-(-span[1] // 8) * 8, size_bytes)
