"""Accesses as often as loops repeat them: arrays of rows and of what came before, a few million at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.isa.checks.accesses import Access
from tilesim.rotating.isa.checks.section import Nested, Touch

Ints = NDArray[np.int64]
MOST_AT_ONCE = 1 << 20
"""Accesses that are handled at once."""
Columns = tuple[tuple[int, int, int, int], ...]
"""Of a row, and of what came before (:class:`Tally`): the first, and what each loop's turn adds."""


@dataclass(frozen=True)
class Instances:
    """Each an access of a ``row`` by the instruction at ``place``, which is number ``issued``, with ``outs`` and
    ``writes`` before it, all from 0.
    """

    place: Ints
    row: Ints
    issued: Ints
    outs: Ints
    writes: Ints

    def __getitem__(self, which: NDArray[np.bool_] | Ints) -> Instances:
        return Instances(*(column[which] for column in self.columns))

    @property
    def columns(self) -> tuple[Ints, ...]:
        return self.place, self.row, self.issued, self.outs, self.writes

    @staticmethod
    def joined(parts: Iterable[Instances]) -> Instances:
        """All of them, in the order in which they are issued."""
        columns = list(zip(*(part.columns for part in parts), strict=True))
        if not columns:
            return Instances(*(np.empty(0, np.int64),) * 5)
        whole = Instances(*map(np.concatenate, columns))
        return whole[np.argsort(whole.issued, kind="stable")]


class _Grid(NamedTuple):
    """An access, its columns by loops that turn so many ``turns``."""

    place: int
    turns: tuple[int, ...]
    columns: Columns
    halves: bool

    def halved(self) -> Iterator[_Grid]:
        """The same in parts that are small enough."""
        if prod(self.turns) <= MOST_AT_ONCE:
            yield self
            return
        widest = max(range(len(self.turns)), key=self.turns.__getitem__)
        half = self.turns[widest] // 2
        for first, count in ((0, half), (half, self.turns[widest] - half)):
            turns = (*self.turns[:widest], count, *self.turns[widest + 1 :])
            begin = zip(self.columns[0], self.columns[1 + widest], strict=True)
            row, issued, outs, writes = (base + first * turn for base, turn in begin)
            columns = ((row, issued, outs, writes), *self.columns[1:])
            yield from self._replace(turns=turns, columns=columns).halved()


def instances(touched: Iterable[Touch], first_only: bool = False) -> Iterator[Instances]:
    """All accesses, some at a time; with ``first_only`` a row that a loop does not move is touched in its first turn
    only. ``writes`` of an instance is that of its own row, where it has several.
    """
    alike: defaultdict[tuple[tuple[int, ...], bool], list[_Grid]] = defaultdict(list)
    for nested, access, _, _ in touched:
        whole = _grid(nested, access, first_only)
        for grid in whole.halved() if whole.turns else (whole,):
            alike[grid.turns, grid.halves].append(grid)
    for (counts, halves), grids in alike.items():
        several = max(1, MOST_AT_ONCE // prod(counts))
        for first in range(0, len(grids), several):
            yield _unrolled(counts, grids[first : first + several], halves)


def _grid(nested: Nested, access: Access, first_only: bool) -> _Grid:
    counts, columns = [], [(access.rows.row, *nested.before)]
    if nested.counts:
        strides = access.rows.strides + (0,) * (len(nested.counts) - len(access.rows.strides))
        for count, stride, turn in zip(nested.counts, strides, nested.turns, strict=True):
            if count > 1 and (stride or not first_only):
                counts.append(count)
                columns.append((stride, *turn))
    if access.count > 1:
        counts.append(access.count)
        columns.append((access.step, 0, 0, int(access.writes)))
    return _Grid(nested.place, tuple(counts), tuple(columns), access.halves)


def _unrolled(counts: tuple[int, ...], grids: Sequence[_Grid], halves: bool) -> Instances:
    """Of grids of the same counts, the columns by grids by turns."""
    columns = np.array([grid.columns for grid in grids], np.int64)  # grids, first and loops, columns
    values = columns[:, 0].T
    for loop, count in enumerate(counts, 1):
        turn = columns[:, loop].T.reshape(4, len(grids), *(1,) * loop)
        values = values[..., None] + turn * np.arange(count)
    row, *before = values.reshape(4, -1)
    place = np.repeat(np.array([grid.place for grid in grids], np.int64), prod(counts))
    return Instances(place, row // 2 if halves else row, *before)
