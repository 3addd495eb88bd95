"""Tiles and vectors sent through the grid of cells, each from a given cycle on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.systolic.cells.grid import Activation, Grid, ShiftControl, Tag

Integers = NDArray[Any]


@dataclass(frozen=True)
class Shift:
    """A tile (inputs, outputs) that is shifted in from cycle ``begin`` on."""

    begin: int
    tile: Integers


@dataclass(frozen=True)
class Multiply:
    """Vectors (vectors, inputs) whose first element stands beside the first cell in cycle ``begin``."""

    begin: int
    vectors: Integers
    switch: bool = True


class Result(NamedTuple):
    """A whole sum, and the cycle from whose start on it stands in the accumulators."""

    sum: int
    cycle: int


Results = dict[tuple[int, int, int], Result]
"""By multiply, vector and output."""


def run(shape: tuple[int, int], shifts: Sequence[Shift], multiplies: Sequence[Multiply]) -> Results:
    """What leaves ``shape`` (inputs, outputs) cells."""
    weight_bytes = shifts[0].tile.itemsize
    grid, feed = Grid(*shape, weight_bytes), _Feed(shape, weight_bytes, shifts, multiplies)
    found: Results = {}
    for cycle in range(feed.last + sum(shape) + 1):
        for left in grid.step(feed.activations(cycle), feed.control(cycle), feed.weights(cycle)):
            multiply, vector, turn = left.tag
            key, (a, w) = (multiply, vector, left.output), feed.turns[turn]
            before = found[key].sum if turn else 0
            found[key] = Result(before + (left.sum << 8 * (a + w)), left.cycle)
    return found


class _Feed:
    """What stands at the edges of the grid in each cycle: value loaders and weight fetcher."""

    def __init__(
        self, shape: tuple[int, int], weight_bytes: int, shifts: Sequence[Shift], multiplies: Sequence[Multiply]
    ) -> None:
        self.inputs, self.outputs = shape
        self.multiplies = multiplies
        self.turns = list(np.ndindex(multiplies[0].vectors.itemsize, weight_bytes))
        """Bytes of activation and weight of each pass."""
        self.shift_cycles = self.inputs * weight_bytes
        self.shifts = shifts
        self.lines = [_bytes(shift.tile).transpose(1, 0, 2).reshape(self.outputs, -1) for shift in shifts]
        ends = [each.begin + len(each.vectors) * len(self.turns) for each in multiplies]
        self.last = max(ends + [shift.begin + self.shift_cycles for shift in shifts])

    def activations(self, cycle: int) -> list[Activation]:
        """Element i of a vector comes i cycles after element 0."""
        return [self._element(i, cycle - i) for i in range(self.inputs)]

    def _element(self, i: int, cycle: int) -> Activation:
        for number, multiply in enumerate(self.multiplies):
            vector, turn = divmod(cycle - multiply.begin, len(self.turns))
            if 0 <= vector < len(multiply.vectors):
                a, w = self.turns[turn]
                byte = int(_bytes(multiply.vectors[vector])[i, a])
                return Activation(byte, w, multiply.switch and vector == turn == 0, Tag(number, vector, turn))
        return Activation()

    def control(self, cycle: int) -> ShiftControl:
        number = self._shifting(cycle)
        return ShiftControl() if number is None else ShiftControl(True, 1 - number % 2)

    def weights(self, cycle: int) -> list[int]:
        """The byte before each line, the farthest cell's first; a line begins a cycle after the one before it."""
        return [self._weight(c, cycle - c) for c in range(self.outputs)]

    def _weight(self, c: int, cycle: int) -> int:
        number = self._shifting(cycle)
        return 0 if number is None else int(self.lines[number][c, self.shifts[number].begin - 1 - cycle])

    def _shifting(self, cycle: int) -> int | None:
        within = [k for k, each in enumerate(self.shifts) if 0 <= cycle - each.begin < self.shift_cycles]
        assert len(within) <= 1, "one shift at a time"
        return within[0] if within else None


def _bytes(x: Integers) -> Integers:
    """Its bytes along a last axis, lowest first; the highest has the sign."""
    return np.stack([*((x.astype(int) >> 8 * k & 255) for k in range(x.itemsize - 1)), x >> 8 * (x.itemsize - 1)], -1)


def expected(multiplies: Sequence[Multiply], tiles: Sequence[Integers]) -> Iterator[tuple[tuple[int, int, int], int]]:
    """Sums of the multiplies, the k-th switching one with the k-th tile, as plain integers."""
    taken = -1
    for number, multiply in enumerate(multiplies):
        taken += multiply.switch
        sums = multiply.vectors.astype(int) @ tiles[taken].astype(int)
        for vector, output in np.ndindex(sums.shape):
            yield (number, vector, output), int(sums[vector, output])
