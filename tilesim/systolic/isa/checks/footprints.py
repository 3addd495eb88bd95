"""What memory each instruction touches: for checks before a run, which know addresses and no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any

from tilesim.arithmetic.table import ENTRIES
from tilesim.systolic.isa.model import instructions as isa
from tilesim.systolic.topology import Topology

BUFFER, WEIGHTS, ACCUMULATORS = "the unified buffer", "weight memory", "the accumulators"
SIZES = {"int8": 1, "uint8": 1, "int16": 2}
"""Bytes of an element."""


@dataclass(frozen=True)
class Footprint:
    """Bytes (of accumulators: entries) from ``first`` up to ``end``: of each ``period`` from ``first`` on only
    ``width``, if there is a period.
    """

    first: int
    end: int
    period: int = 0
    width: int = 0

    def meets(self, other: Footprint) -> bool:
        """Whether both may have a byte in common; where periods differ, without looking closely."""
        first, end = max(self.first, other.first), min(self.end, other.end)
        if first >= end:
            return False
        if self.period and other.period:
            period = gcd(self.period, other.period)
            apart = (other.first - self.first) % period
            return not (self.width <= apart and apart + other.width <= period)
        return self._reaches(first, end) and other._reaches(first, end)

    def _reaches(self, first: int, end: int) -> bool:
        """Whether it has a byte from ``first`` up to ``end``, which lie inside of it."""
        into = (first - self.first) % self.period if self.period else 0
        return not self.period or into < self.width or first + self.period - into < end


@dataclass(frozen=True)
class MemoryAccess:
    """An instruction's ``field`` has it read or write a ``footprint`` of a ``memory``."""

    field: str
    memory: str
    footprint: Footprint
    writes: bool = False


def accesses(op: isa.Instruction, topology: Topology) -> list[MemoryAccess]:
    """Everything that ``op`` touches, parameters and tables included."""
    return list(_ACCESSES.get(type(op), _nests)(op, topology))


def _run(first: int, length: int) -> Footprint:
    return Footprint(first, first + length)


def _read_host_memory(op: isa.ReadHostMemory, _: Topology) -> Iterator[MemoryAccess]:
    yield MemoryAccess("offset", f"{op.source} {op.tensor}", _run(op.offset, op.bytes))
    memory = BUFFER if op.destination == "unified_buffer" else WEIGHTS
    yield MemoryAccess("address", memory, _run(op.address, op.bytes), writes=True)


def _write_host_memory(op: isa.WriteHostMemory, _: Topology) -> Iterator[MemoryAccess]:
    yield MemoryAccess("address", BUFFER, _run(op.address, op.bytes))
    yield MemoryAccess("offset", f"output {op.tensor}", _run(op.offset, op.bytes), writes=True)


def _read_weights(op: isa.ReadWeights, topology: Topology) -> Iterator[MemoryAccess]:
    tile_bytes = topology.array.inputs * topology.array.outputs * op.weight_bytes
    yield MemoryAccess("address", WEIGHTS, _run(op.address, op.tiles * tile_bytes))


def _multiply(op: isa.MatrixMultiply, _: Topology) -> Iterator[MemoryAccess]:
    footprint = window_footprint(op.window, SIZES[op.activations], (op.first, op.vectors), (op.first_row, op.rows))
    if footprint:
        yield MemoryAccess("window", BUFFER, footprint)
    yield MemoryAccess("accumulator", ACCUMULATORS, _run(op.accumulator, op.vectors), writes=True)


def _activate(op: isa.Activate, _: Topology) -> Iterator[MemoryAccess]:
    yield MemoryAccess("accumulator", ACCUMULATORS, _run(op.accumulator, op.vectors))
    yield MemoryAccess("scale.parameters", BUFFER, _run(op.scale.parameters, isa.PARAMETER_BYTES * op.columns))
    if op.table >= 0:
        yield MemoryAccess("table", BUFFER, _run(op.table, ENTRIES))
    vectors = op.window.positions if op.window else op.vectors
    yield _results(op.address, vectors, op.stride_bytes, op.columns * SIZES[op.element])


def _results(address: int, vectors: int, stride: int, width: int) -> MemoryAccess:
    return MemoryAccess("address", BUFFER, nest_footprint(isa.Nest(address, width, (vectors,), (stride,))), writes=True)


def _pool(op: isa.Pool, _: Topology) -> Iterator[MemoryAccess]:
    window, size = op.window, SIZES[op.element]
    footprint = window_footprint(window, size, (0, window.positions), (0, window.elements))
    if footprint:
        yield MemoryAccess("window", BUFFER, footprint)
    yield _results(op.address, window.positions, op.stride_bytes, window.channels * size)


def _nests(op: isa.Instruction, _: Topology) -> Iterator[MemoryAccess]:
    if isinstance(op, isa.Lookup):
        yield MemoryAccess("table", BUFFER, _run(op.table, ENTRIES))
    for name in ("source", "a", "b", "destination"):
        nest: isa.Nest | None = getattr(op, name, None)
        if nest:
            yield MemoryAccess(name, BUFFER, nest_footprint(nest), writes=name == "destination")


def window_footprint(
    window: isa.Window, size: int, vectors: tuple[int, int], rows: tuple[int, int]
) -> Footprint | None:
    """What the windows ``vectors`` (first and how many) touch with elements ``rows`` (likewise) of ``size`` bytes.

    None if they have nothing but padding.
    """
    (first, several), (row, more), (high, wide) = vectors, rows, (window.output_height, window.output_width)
    taps = row // window.channels, (row + more - 1) // window.channels
    channels = (row % window.channels, row % window.channels + more) if taps[0] == taps[1] else (0, window.channels)
    places = [
        (n, *divmod(at, wide)) for n, at in (divmod(vector, high * wide) for vector in (first, first + several - 1))
    ]
    (image, top, left), (last, bottom, right) = places
    if (image, top) != (last, bottom):
        left, right = 0, wide - 1
    (ky, kx), (my, mx) = (divmod(tap, window.kernel[1]) for tap in taps)
    if ky != my:
        kx, mx = 0, window.kernel[1] - 1
    x, end_x = _columns(window, (left, right), (kx, mx))
    (image, y), (last, end_y) = _first_row(window, image, top, ky), _last_row(window, last, bottom, my)
    if x > end_x or (image, y) > (last, end_y) or y >= window.height or end_y < 0:
        return None
    begin = window.address + image * window.image_bytes + y * window.row_bytes + x * window.pixel_bytes
    end = window.address + last * window.image_bytes + end_y * window.row_bytes + end_x * window.pixel_bytes
    period, width = window.pixel_bytes, (channels[1] - channels[0]) * size
    steady = period and not (window.row_bytes % period or window.image_bytes % period) and width < period
    first, after = begin + channels[0] * size, end + channels[1] * size
    return Footprint(first, after, period, width) if steady else Footprint(first, after)


def _place(window: isa.Window, axis: int, place: int, tap: int) -> int:
    """The coordinate that a tap of a window has, in the map or beside it."""
    return place * window.strides[axis] - window.padding[axis] + tap * window.dilations[axis]


def _columns(window: isa.Window, places: tuple[int, int], taps: tuple[int, int]) -> tuple[int, int]:
    """The first and the last column inside the map that places and taps from here to there have."""
    low, high = (_place(window, 1, place, tap) for place, tap in zip(places, taps, strict=True))
    return max(low, 0), min(high, window.width - 1)


def _first_row(window: isa.Window, image: int, top: int, tap: int) -> tuple[int, int]:
    """The image and the row that windows from row ``top`` of an image on reach first: of the next image, if of this
    one they have nothing but padding below it.
    """
    y = _place(window, 0, top, tap)
    return (image, max(y, 0)) if y < window.height else (image + 1, max(_place(window, 0, 0, tap), 0))


def _last_row(window: isa.Window, image: int, bottom: int, tap: int) -> tuple[int, int]:
    """The image and the row that windows up to row ``bottom`` of an image reach last: of the image before, if of this
    one they have nothing but padding above it.
    """
    y = _place(window, 0, bottom, tap)
    if y < 0:
        image, y = image - 1, _place(window, 0, window.output_height - 1, tap)
    return image, min(y, window.height - 1)


def nest_footprint(nest: isa.Nest) -> Footprint:
    """What a nest touches."""
    loops = sorted((abs(stride), count) for count, stride in zip(nest.counts, nest.strides, strict=True) if count > 1)
    first = nest.address + sum((n - 1) * min(s, 0) for n, s in zip(nest.counts, nest.strides, strict=True))
    end = first + nest.bytes + sum(stride * (count - 1) for stride, count in loops)
    width = nest.bytes
    while loops and loops[0][0] <= width:
        stride, count = loops.pop(0)
        width += stride * (count - 1)
    period = loops[0][0] if loops else 0
    steady = period and not any(stride % period for stride, _ in loops)
    return Footprint(first, end, period, width) if steady else Footprint(first, end)


_ACCESSES: dict[type, Callable[[Any, Topology], Iterator[MemoryAccess]]] = {
    isa.ReadHostMemory: _read_host_memory,
    isa.WriteHostMemory: _write_host_memory,
    isa.ReadWeights: _read_weights,
    isa.MatrixMultiply: _multiply,
    isa.Activate: _activate,
    isa.Pool: _pool,
}
"""What touches more than nests."""
