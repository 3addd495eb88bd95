"""From captured accumulators to the words of a row, and which words of the row these become."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.add import add
from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.rotating.datapath.accumulators import Sums
from tilesim.rotating.datapath.words import Words, bytes_of, words_of
from tilesim.rotating.isa.model.instructions import Function, Mask, Out, Place, Set
from tilesim.rotating.topology import RAW_ROWS, Topology
from tilesim.sim.core.memory import Bytes

Indices = NDArray[np.int64]

_INT32 = np.iinfo(np.int32)
_COMBINED = {"add": add, "multiply": multiply}


@dataclass(frozen=True, eq=False)
class Scales:
    """Bias, multiplier and shift of each unit: int32 (units,) each."""

    bias: Words
    multiplier: Words
    shift: Words


@dataclass(frozen=True, eq=False)
class Captured:
    """What an out took: sums and mux-registers (samples, units), and what says how they become ``rows`` of the RAM."""

    op: Out
    row: int
    sums: Sums
    mux: Words
    control: Set
    mask: Mask
    scales: Scales | None = None
    table: Words | None = None

    @property
    def rows(self) -> range:
        """Those that it writes."""
        return range(self.row, self.row + (RAW_ROWS if self.op.function is Function.RAW else 1))


def scales_of(rows: Bytes, topology: Topology) -> Scales:
    """The parameters in ``rows`` of the weight RAM, uint8 (rows, row bytes)."""
    of_words = rows.reshape(len(rows), topology.units.count, topology.word_bytes)
    of_units = of_words.transpose(1, 0, 2).reshape(topology.units.count, -1)
    bias, multiplier = (np.ascontiguousarray(of_units[:, k : k + 4]).view("<i4")[:, 0] for k in (0, 4))
    return Scales(bias.astype(np.int32), multiplier.astype(np.int32), of_units[:, 8].view(np.int8).astype(np.int32))


def table_of(rows: Bytes, topology: Topology) -> Words:
    """The 256 entries in ``rows`` of the weight RAM."""
    return words_of(rows, topology).reshape(-1)[:256]


def converted(captured: Captured, topology: Topology) -> list[Words]:
    """The words of each row, (samples, units), whether they are written or not."""
    op, sums = captured.op, captured.sums
    if op.function is Function.RAW:
        return [(sums >> (8 * plane)).astype(np.int32) & 255 for plane in range(RAW_ROWS - 1)] + [
            (sums >> 24).astype(np.int32)
        ]
    if op.function is Function.LOOKUP:
        assert captured.table is not None
        return [captured.table[sums & 255]]
    if op.function is Function.COMBINE:
        return [_combined(captured, topology)]
    return [_requantised(captured)]


def _requantised(captured: Captured) -> Words:
    control, scales = captured.control, captured.scales
    assert scales is not None
    biased = np.clip(captured.sums + scales.bias, _INT32.min, _INT32.max).astype(np.int32)
    scaled = requantise(control.rule, biased, scales.multiplier, scales.shift)
    return np.asarray(saturate(scaled, control.zero_point, control.clamp, np.int32))


def _combined(captured: Captured, topology: Topology) -> Words:
    control = captured.control
    dtype = np.dtype(f"{'int' if control.data == 'signed' else 'uint'}{topology.units.word_bits}")
    a, b = captured.sums.astype(dtype), captured.mux.astype(dtype)
    values = _COMBINED[control.combine](control.rule, a, b, control.scaling)
    return np.asarray(saturate(values, 0, control.clamp, np.int32))


@lru_cache(maxsize=256)
def targets(mask: Mask, place: Place | None, units: int) -> tuple[Indices, Indices]:
    """Which words of a row are taken, and as which words they are written."""
    if not mask.count:
        every = np.arange(units)
        return every, every
    blocks = np.arange(mask.blocks)[:, None] * mask.block + mask.offset
    numbers = np.arange(mask.count)[None]
    taken = (blocks + numbers * mask.stride) % units
    written = taken if place is None else (blocks + place.slot * (mask.block // place.slots) + numbers) % units
    return taken.reshape(-1), written.reshape(-1)


def written(captured: Captured, words: Words, before: Bytes, topology: Topology) -> Bytes:
    """What a row becomes, of which ``before`` are the bytes, (samples, row bytes)."""
    taken, places = targets(captured.mask, captured.op.place, topology.units.count)
    row = words_of(before, topology)
    if captured.op.outside == "fill":
        row = np.full_like(row, captured.op.fill)
    row = np.broadcast_to(row, words.shape).copy()
    row[:, places] = words[:, taken]
    return bytes_of(row, topology)
