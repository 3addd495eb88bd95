"""Words that go from rows to other rows: which, how far they are rotated, and where they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.compiler.task import Task
from tilesim.rotating.isa.model.program import Layout
from tilesim.rotating.layout import NONE, sources

Indices = NDArray[Any]
NOWHERE = -1
VALUES = 1 << 20
"""Beyond all values that a pad may have."""


class Words(NamedTuple):
    """Those that a mask names."""

    offset: int
    block: int
    stride: int
    words: int
    blocks: int


class Move(NamedTuple):
    """Of row ``row`` of a line of input ``source``, rotated by ``distance``, the words ``masks``."""

    source: int
    row: int
    distance: int
    masks: tuple[Words, ...]


@dataclass(frozen=True)
class LineMoves:
    """What makes a row of a line: ``moves``, of the line of each in ``lines``."""

    moves: tuple[Move, ...]
    lines: tuple[int, ...]


def wanted(task: Task) -> Indices:
    """Which element of the inputs each of the output is, (lines, columns, channels), those of all inputs counted one
    map after the other; -1 where it is the fill.
    """
    if task.cut is not None and task.cut.moved is not None:
        return task.cut.moved
    first, numbers = 0, []
    shapes = task.shapes or tuple(tensor.shape for tensor in task.inputs)
    for own, shape in zip(task.maps, shapes, strict=True):
        count = int(np.prod(own))
        numbers.append(np.arange(VALUES + first, VALUES + first + count).reshape(shape))
        first += count
    made = np.asarray(task.node.operator.evaluate(numbers)).reshape(task.made)
    return np.where(made < VALUES, NOWHERE, made - VALUES)


class Copying:
    """Copies elements of maps that stand as ``inputs`` say into one that stands as ``output`` says. ``wanted``, of its
    shape, counts the elements of all inputs, one map after the other; -1 for one that is filled.
    """

    def __init__(self, inputs: Sequence[Layout], output: Layout, wanted: Indices, units: int, up: bool) -> None:
        self.inputs, self.output, self.units, self.up = inputs, output, units, up
        columns, channels = sources(output, units)
        self.wanted = np.where(columns == NONE, NOWHERE, wanted[:, columns, channels])
        self.homes = [_homes(layout, units) for layout in inputs]
        self.firsts = np.cumsum([0, *(layout.height * layout.width * layout.depth for layout in inputs)])
        self.known: dict[bytes, list[tuple[int, int, Indices]]] = {}

    def row(self, line: int, row: int) -> LineMoves:
        """What makes a row of a line."""
        wanted = self.wanted[line, row]
        words = np.flatnonzero(wanted >= 0)
        elements = wanted[words]
        source = np.searchsorted(self.firsts, elements, side="right") - 1
        sizes = np.array([layout.width * layout.depth for layout in self.inputs])
        lines, within = np.divmod(elements - self.firsts[source], sizes[source])
        moves: list[Move] = []
        of: list[int] = []
        for number, read in sorted(set(zip(source.tolist(), lines.tolist(), strict=True))):
            own = (source == number) & (lines == read)
            for from_row, distance, targets in self._carried(number, words[own], within[own]):
                moves.append(Move(number, from_row, distance, tuple(masks(targets, self.output, self.units))))
                of.append(read)
        return LineMoves(tuple(moves), tuple(of))

    def _carried(self, source: int, words: Indices, within: Indices) -> list[tuple[int, int, Indices]]:
        """Rows and distances, those first that bring most words of those that are left."""
        key = np.concatenate([[source], words, within]).tobytes()
        if key in self.known:
            return self.known[key]
        homes = self.homes[source][within]
        row, word = np.divmod(homes, self.units)
        distance = (words[:, None] - word if self.up else word - words[:, None]) % self.units
        ways = np.where(homes < 0, -1, row * self.units + distance)
        carried = []
        left = np.ones(len(words), bool)
        while left.any():
            each, count = np.unique(ways[left], return_counts=True)
            count[each < 0] = 0
            way = int(each[np.argmax(count)])
            brought = left & (ways == way).any(axis=1)
            carried.append((*divmod(way, self.units), words[brought]))
            left &= ~brought
        self.known[key] = carried
        return carried


def _homes(layout: Layout, units: int) -> Indices:
    """Of each element of a line, (elements, replicas): the words, rows end to end, at which it stands; -1 behind."""
    columns, channels = (found.reshape(-1) for found in sources(layout, units))
    held = np.flatnonzero(columns != NONE)
    element = columns[held] * layout.depth + channels[held]
    order = np.argsort(element, kind="stable")
    held, element = held[order], element[order]
    number = np.arange(len(held)) - np.searchsorted(element, element)
    homes = np.full((layout.width * layout.depth, number.max() + 1), NOWHERE)
    homes[element, number] = held
    return homes


def masks(words: Indices, layout: Layout, units: int) -> Iterator[Words]:
    """Masks that name these words of a row, in blocks that follow each other if they can."""
    stripe = layout.stripes[0]
    block, column = np.divmod((words - stripe.offset) % units, stripe.block)
    columns: dict[int, tuple[int, ...]] = {}
    for number in np.unique(block).tolist():
        columns[number] = tuple(column[block == number].tolist())
    for first, count in _runs(columns, units // stripe.block):
        for start, stride, many in _strides(sorted(columns[first])):
            yield Words((stripe.offset + first * stripe.block + start) % units, stripe.block, stride, many, count)


def _runs(columns: dict[int, tuple[int, ...]], blocks: int) -> Iterator[tuple[int, int]]:
    """Blocks that follow each other round the ring and have the same words: the first, and how many."""
    begins = [b for b in columns if columns.get((b - 1) % blocks) != columns[b]] or [min(columns)]
    for first in begins:
        count = 1
        while count < blocks and columns.get((first + count) % blocks) == columns[first]:
            count += 1
        yield first, count


def _strides(columns: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """The columns as runs at equal distances: the first of each, the distance, and how many."""
    left = list(columns)
    while left:
        first, *others = left
        stride = others[0] - first if others else 1
        count = 1
        while count < len(left) and left[count] == first + count * stride:
            count += 1
        yield first, stride, count
        del left[:count]
