"""The rows that DMA moves: each with its number, and what its unit knew of the others when it began with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesim.ragged import ranges
from tilesim.rotating.isa.checks.accesses import WORDS
from tilesim.rotating.isa.checks.instances import Ints
from tilesim.rotating.isa.checks.order import Known
from tilesim.rotating.isa.model.instructions import Ram, ReadHostMemory, WriteHostMemory

MOST_MOVED = 1 << 23
"""Rows that a DMA unit moves in a section."""
MOST_SCRATCHES = 1 << 10
_ROW_BITS, _NUMBER_BITS = 27, 24
_MEMORIES = {Ram.DATA: 0, Ram.WEIGHT: 1}
_SCRATCHES = 2

Touched = tuple[int, int, int, int]
"""What a move touches: its place in the list of moves, a memory, the first row there, and how many."""


def ram_key(ram: Ram) -> int:
    """The key of a RAM's first row."""
    return _MEMORIES[ram] << _ROW_BITS


def row_of(key: int) -> str:
    """The row of a key, in words."""
    memory, row = divmod(key, 1 << _ROW_BITS)
    rams = {number: WORDS[ram] for ram, number in _MEMORIES.items()}
    return f"row {row} of {rams.get(memory, f'scratch {memory - _SCRATCHES}')}"


@dataclass(frozen=True)
class Moves:
    """Rows by their keys, sorted by these and then by number, from 1; ``known`` has a row for each of
    :class:`Known`.
    """

    place: Ints
    key: Ints
    number: Ints
    known: Ints

    def of(self, counter: int) -> Ints:
        """What each knows of one of the counters."""
        known: Ints = self.known[counter]
        return known

    def first(self, keys: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Which keys are touched, and by which move first."""
        return self.behind(keys, np.zeros_like(keys))

    def behind(self, keys: Ints, numbers: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Which keys are touched by a move behind that of a number, and by which one next."""
        at = np.searchsorted(self._sorted, (keys << _NUMBER_BITS) + numbers, "right")
        there = at < len(self.key)
        at[~there] = 0
        if len(self.key):
            there &= self.key[at] == keys
        return there, at

    @property
    def _sorted(self) -> Ints:
        return (self.key << _NUMBER_BITS) + self.number


def rows_in(moved: Sequence[tuple[int, ReadHostMemory, int]], known: Sequence[Known], scratch: bool = False) -> Moves:
    """The rows that DMA in writes; with ``scratch`` those that it reads from where DMA out may write."""
    return _moves(moved, known, _scratch_reads(moved) if scratch else _ram_writes(moved))


def rows_out(moved: Sequence[tuple[int, WriteHostMemory, int]], known: Sequence[Known], scratch: bool = False) -> Moves:
    """The rows that DMA out reads; with ``scratch`` those that it writes where DMA in may read."""
    return _moves(moved, known, _scratch_writes(moved) if scratch else _ram_reads(moved))


def _ram_writes(moved: Sequence[tuple[int, ReadHostMemory, int]]) -> Iterator[Touched]:
    for index, (_, op, _) in enumerate(moved):
        yield index, _MEMORIES[op.ram], op.row, op.rows


def _scratch_reads(moved: Sequence[tuple[int, ReadHostMemory, int]]) -> Iterator[Touched]:
    for index, (_, op, _) in enumerate(moved):
        if op.source == "scratch":
            yield index, _SCRATCHES + op.tensor, op.offset, op.rows


def _ram_reads(moved: Sequence[tuple[int, WriteHostMemory, int]]) -> Iterator[Touched]:
    for index, (_, op, _) in enumerate(moved):
        yield index, _MEMORIES[Ram.DATA], op.row, op.rows


def _scratch_writes(moved: Sequence[tuple[int, WriteHostMemory, int]]) -> Iterator[Touched]:
    for index, (_, op, _) in enumerate(moved):
        if op.destination == "scratch":
            yield index, _SCRATCHES + op.tensor, op.offset, op.rows


def _moves(
    moved: Sequence[tuple[int, ReadHostMemory | WriteHostMemory, int]],
    known: Sequence[Known],
    touched: Iterator[Touched],
) -> Moves:
    columns = np.array(list(touched), np.int64).reshape(-1, 4)
    *which, rows = columns.T
    index, memory, first = (np.repeat(column, rows) for column in which)
    within = ranges(0, rows)
    places = np.array([place for place, _, _ in moved], np.int64)
    before = np.array([count for _, _, count in moved], np.int64)
    knew = np.array(known, np.int64).reshape(-1, len(Known._fields))
    keys, numbers = (memory << _ROW_BITS) + first + within, before[index] + within + 1
    order = np.lexsort((numbers, keys))
    index = index[order]
    return Moves(places[index], keys[order], numbers[order], knew[index].T)
