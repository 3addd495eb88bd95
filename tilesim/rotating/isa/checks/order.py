"""A section without time: how far each unit comes, and what it knows of the others when it comes there.

The array, DMA in and DMA out each go on until a sync holds them. Whatever came before a sync is done when what it waits
for is: an out issued, that all rows are loaded which came before it; a row written by the output unit, that all those
before it are; a row written by DMA in, or sent by DMA out, likewise, and whatever those units had waited for.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tilesim.rotating.isa.checks.accesses import Access
from tilesim.rotating.isa.checks.deadlock import MOVERS, Deadlock, Held
from tilesim.rotating.isa.checks.implied import fetches, interlocked
from tilesim.rotating.isa.checks.instances import Instances, Ints, instances
from tilesim.rotating.isa.checks.section import Section, touch
from tilesim.rotating.isa.model.instructions import (
    Counter,
    Instruction,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.walk import queued


class Known(NamedTuple):
    """What is known to be done: outs that are issued, rows that the output unit has written, DMA in, and DMA out."""

    outs: int = 0
    writes: int = 0
    rows_in: int = 0
    rows_out: int = 0

    def joined(self, other: Known) -> Known:
        return Known(*map(max, self, other))


NOTHING = Known()
OUTS, WRITES, ROWS_IN, ROWS_OUT = range(4)


@dataclass
class Lane:
    """A DMA queue: its instructions, the rows ``before`` each and in the end, how many are ``done``, what was known
    when each of these began, and what is now.
    """

    ops: list[tuple[int, Instruction]]
    before: list[int]
    known: list[Known] = field(default_factory=list)
    now: Known = NOTHING

    @property
    def done(self) -> int:
        return len(self.known)

    @property
    def held(self) -> tuple[int, Instruction] | None:
        return self.ops[self.done] if self.done < len(self.ops) else None

    @property
    def rows(self) -> int:
        """Rows that it has moved."""
        return self.before[self.done]

    def take(self, known: Known) -> None:
        self.now = known
        self.known.append(known)

    def knew(self, row: int) -> Known:
        """What was known when it moved row number ``row``, from 1."""
        return self.known[bisect_left(self.before, row) - 1]


@dataclass
class Order:
    """``held``: what units can't go on, and at what; ``known``: what the array knows behind each of its syncs, the
    first time before them all.
    """

    section: Section
    known: list[Known] = field(default_factory=lambda: [NOTHING])
    held: dict[Queue, Held] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lanes = {queue: _lane(self.section, queue) for queue in (Queue.DMA_IN, Queue.DMA_OUT)}
        syncs = Instances.joined(
            instances(
                touch(nested, Access("count", Ram.DATA, Rows(nested.op.count, nested.op.strides)))
                for nested in self.section.nested
                if isinstance(nested.op, Sync)
            )
        )
        self.issued = syncs.issued
        self._places = syncs.place.tolist()
        self._outs, self._writes = syncs.outs.tolist(), syncs.writes.tolist()
        self._counts: list[int] = syncs.row.tolist()
        while self._array() | any(self._lane(lane) for lane in self.lanes.values()):
            pass
        self.held = self._held()

    def counted(self, counter: Counter) -> int:
        """What a counter has come to when nothing goes on any more."""
        passed, totals = len(self.known) - 1, self.section.totals
        if counter is Counter.ARRAY:
            return self._outs[passed] if passed < len(self._outs) else totals.outs
        if counter is Counter.OUTPUT:
            return self._writes[passed] if passed < len(self._writes) else totals.writes
        return self.lanes[MOVERS[counter]].rows

    @property
    def deadlock(self) -> Deadlock:
        """Who holds whom."""
        totals = self.section.totals
        rows = {counter: self.lanes[MOVERS[counter]].before[-1] for counter in (Counter.DMA_IN, Counter.DMA_OUT)}
        return Deadlock(
            self.section.name,
            self.section.ops,
            self.held,
            {counter: self.counted(counter) for counter in Counter},
            {Counter.ARRAY: totals.outs, Counter.OUTPUT: totals.writes, **rows},
        )

    def knew_of(self, counter: int, issued: Ints) -> Ints:
        """How many rows of DMA in (``ROWS_IN``), or of DMA out, the array knows to be done when it issues these."""
        known: Ints = self._columns[counter][np.searchsorted(self.issued, issued)]
        return known

    def moving(self, queue: Queue) -> list[Known]:
        """What was known when each of the rows' instructions of a DMA unit began."""
        lane = self.lanes[queue]
        return [known for known, (_, op) in zip(lane.known, lane.ops, strict=True) if not isinstance(op, Sync)]

    def fetched_by(self, fetches: Ints) -> Ints:
        """For each fetch of parameters, issued in this place, the out whose issue says that it is done, from 1; one
        more than there are, if none does.
        """
        ends, outs = self._fetches
        return outs[np.searchsorted(ends, fetches)]

    @cached_property
    def _fetches(self) -> tuple[Ints, Ints]:
        return fetches(self.section)

    @cached_property
    def _columns(self) -> Ints:
        return np.array(self.known, np.int64).T

    def _array(self) -> bool:
        before = len(self.known)
        for passed in range(before - 1, len(self._counts)):
            sync = self.section.ops[self._places[passed]]
            assert isinstance(sync, Sync)
            if self.counted(sync.until) < self._counts[passed]:
                break
            self.known.append(self._learnt(self.known[-1], sync.until, self._counts[passed]))
        return len(self.known) > before

    def _lane(self, lane: Lane) -> bool:
        before = lane.done
        while lane.held:
            op = lane.held[1]
            if not isinstance(op, Sync):
                lane.take(lane.now)
            elif self.counted(op.until) >= op.count:
                lane.take(self._learnt(lane.now, op.until, op.count))
            else:
                break
        return lane.done > before

    def _learnt(self, now: Known, counter: Counter, count: int) -> Known:
        """What is known behind a sync that has been met."""
        if count <= now[_COLUMN[counter]] or count < 1:
            return now
        if counter is Counter.ARRAY:
            behind = self.known[bisect_left(self._outs, count)]
            done = Known(outs=count, writes=int(self._interlocked[count]))
        elif counter is Counter.OUTPUT:
            behind = self.known[bisect_left(self._writes, count)]
            done = Known(outs=int(self._written_by[count]), writes=count)
        else:
            behind = self.lanes[MOVERS[counter]].knew(count)
            done = Known(rows_in=count) if counter is Counter.DMA_IN else Known(rows_out=count)
        return now.joined(behind).joined(done)

    @cached_property
    def _written_by(self) -> Ints:
        """The out that writes each row, both from 1."""
        outs = Instances.joined(instances(it for it in self.section.touched if it.access.writes))
        return np.concatenate([[0], outs.outs[np.argsort(outs.writes)] + 1])

    @cached_property
    def _interlocked(self) -> Ints:
        return interlocked(self.section)

    def _held(self) -> dict[Queue, Held]:
        held = {}
        passed = len(self.known) - 1
        if passed < len(self._counts):
            held[Queue.ARRAY] = Held(self._places[passed], self._counts[passed])
        for queue, lane in self.lanes.items():
            if lane.held and isinstance(lane.held[1], Sync):
                held[queue] = Held(lane.held[0], lane.held[1].count)
        return held


def _lane(section: Section, queue: Queue) -> Lane:
    ops = queued(section.ops, queue)
    rows = [op.rows if isinstance(op, (ReadHostMemory, WriteHostMemory)) else 0 for _, op in ops]
    return Lane(ops, [0, *np.cumsum(rows, dtype=np.int64).tolist()])


_COLUMN = {counter: column for column, counter in enumerate(Counter)}
