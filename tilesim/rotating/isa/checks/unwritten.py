"""Rows that are read, and that nobody has written: neither before them in their section, nor in the section before.

A write that nothing orders with the read may come before it: that, the hazards say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.program import where
from tilesim.rotating.isa.checks.accesses import Access
from tilesim.rotating.isa.checks.instances import Ints, instances
from tilesim.rotating.isa.checks.moves import Moves, ram_key, row_of, rows_in, rows_out
from tilesim.rotating.isa.checks.order import OUTS, ROWS_IN, ROWS_OUT, Order
from tilesim.rotating.isa.checks.section import Touch
from tilesim.rotating.isa.model.instructions import Queue, Ram
from tilesim.rotating.topology import Topology

Bools = NDArray[np.bool_]
NEVER = np.iinfo(np.int64).max


@dataclass
class Written:
    """What has been written when a section begins: rows of the RAMs, and keys of scratch rows."""

    topology: Topology
    rams: dict[Ram, Bools] = field(init=False)
    scratch: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        sizes = {Ram.DATA: self.topology.data_ram.rows, Ram.WEIGHT: self.topology.weight_ram.rows}
        self.rams = {ram: np.zeros(rows, bool) for ram, rows in sizes.items()}

    def faults(self, order: Order) -> list[str]:
        """Reads in a section, without a deadlock, of what nobody has written; the section's rows are written then."""
        return list(_Reads(order, self).faults())


class _Reads:
    """A section's reads, and the first writes of each row in it."""

    def __init__(self, order: Order, written: Written) -> None:
        self._order, self._section, self._written = order, order.section, written
        come, gone = order.moving(Queue.DMA_IN), order.moving(Queue.DMA_OUT)
        self._into, self._out_of = rows_in(self._section.rows_in, come), rows_out(self._section.rows_out, gone)
        self._from_scratch = rows_in(self._section.rows_in, come, scratch=True)
        self._to_scratch = rows_out(self._section.rows_out, gone, scratch=True)
        self._first_out = np.full(len(written.rams[Ram.DATA]), NEVER)
        for part in instances((it for it in self._section.touched if it.access.writes), first_only=True):
            np.minimum.at(self._first_out, part.row, part.issued)

    def faults(self) -> Iterator[str]:
        for label, keep in _KINDS.items():
            yield from self._array([it for it in self._section.touched if keep(it.access)], label)
        yield from self._dma_out()
        yield from self._dma_in()
        self._write()

    def _array(self, touched: list[Touch], label: str) -> Iterator[str]:
        for ram in Ram:
            missing: dict[int, int] = {}
            there = self._written.rams[ram]
            before = np.concatenate([[0], np.cumsum(there)]).tolist()
            for part in instances((it for it in touched if it.access.ram is ram and not _whole(it, before)), True):
                done = self._order.fetched_by(part.issued) if label == "row" else part.outs + 1
                keys = part.row + ram_key(ram)
                bad = ~there[part.row] & ~self._came(keys, OUTS, done)
                if ram is Ram.DATA:
                    bad &= self._first_out[part.row] >= part.issued
                for place, key in zip(part.place[bad].tolist(), keys[bad].tolist(), strict=True):
                    missing.setdefault(place, key)
            for place, key in sorted(missing.items()):
                yield self._sentence(place, label, key)

    def _came(self, keys: Ints, counter: int, done: Ints) -> Bools:
        """Whether DMA in may have written rows before a reader that is done when a counter comes to a number."""
        there, first = self._into.first(keys)
        if there.any():
            there &= self._into.of(counter)[first] < done
        return there

    def _dma_out(self) -> Iterator[str]:
        moves = self._out_of
        rows = moves.key - ram_key(Ram.DATA)
        first = self._first_out[rows]
        made = first < NEVER
        made[made] &= self._order.knew_of(ROWS_OUT, first[made]) < moves.number[made]
        bad = ~self._written.rams[Ram.DATA][rows] & ~self._came(moves.key, ROWS_OUT, moves.number) & ~made
        yield from self._moved(moves, bad, "row")

    def _dma_in(self) -> Iterator[str]:
        moves = self._from_scratch
        there, first = self._to_scratch.first(moves.key)
        if there.any():
            there &= self._to_scratch.of(ROWS_IN)[first] < moves.number
        yield from self._moved(moves, ~there & ~np.isin(moves.key, self._written.scratch), "offset")

    def _moved(self, moves: Moves, bad: Bools, label: str) -> Iterator[str]:
        places, first = np.unique(moves.place[bad], return_index=True)
        for place, key in zip(places.tolist(), moves.key[bad][first].tolist(), strict=True):
            yield self._sentence(place, label, key)

    def _sentence(self, place: int, label: str, key: int) -> str:
        here = where(self._section.name, place, self._section.ops[place])
        return f"{here}: {label} must be of rows that are written before they are read, and {row_of(key)} is not"

    def _write(self) -> None:
        rams = self._written.rams
        rams[Ram.DATA] |= self._first_out < NEVER
        for ram, there in rams.items():
            rows = self._into.key - ram_key(ram)
            there[rows[(rows >= 0) & (rows < len(there))]] = True
        self._written.scratch = np.union1d(self._written.scratch, self._to_scratch.key)


def _whole(touch: Touch, before: list[int]) -> bool:
    """Whether all rows from the first to the last are written already."""
    first, last = touch.rows
    return before[last + 1] - before[first] == last + 1 - first


_KINDS: dict[str, Callable[[Access], bool]] = {
    "data": lambda access: access.field == "data",
    "weights": lambda access: access.field == "weights",
    "row": lambda access: access.fetches,
}
"""What reads, by the name of the field."""
