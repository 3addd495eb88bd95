"""Reads that go on whenever their ports let them, over as many accesses of others as there may be, in one step.

As long as each group takes at least as many reads as the one before it takes writes, and nobody else is at the write
port, a group has been written before the next one is through with its reads: the queue never fills, and what happens
follows from the free slots of the read ports alone. Group g has been read in the n-th free slot from the start on, n
being the reads of all groups up to it, and written ``writes`` cycles later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.core.port import NEVER, Intervals

Counts = NDArray[np.int64]


class Place(NamedTuple):
    """How far a pipe is: groups read and written, and what is left of the present ones."""

    read: int
    written: int
    extras: int
    issues: int
    writes: int


Span = tuple[tuple[bool, bool, bool, str, str], int]
"""What both stages do (the fields of an :class:`~tilesim.sim.pipe.pipe.Activity`), and for how many cycles."""


class Sums:
    """Reads and writes of all groups before each: what a leap counts with.

    ``apart`` as in :class:`~tilesim.sim.pipe.pipe.Costs`. A leap does not go beyond the groups in ``breaks``, a
    backlog not beyond those that wait longer than for a place in the queue.
    """

    def __init__(self, extras: Counts, issues: Counts, writes: Counts, apart: Counts | None) -> None:
        reads = extras + issues
        self.reads, self.extras, self.writes = _before(reads), _before(extras), _before(writes)
        self.upto: list[int] = self.reads.tolist()
        broken = reads[1:] < writes[:-1]
        if apart is not None:
            broken |= apart[1:] < 2
        self.breaks: list[int] = (np.flatnonzero(broken) + 1).tolist()
        self.apart = apart
        self.with_extras = np.flatnonzero(extras)

    def end(self, group: int) -> int:
        """Up to which group a leap may read that starts in ``group``."""
        k = bisect_right(self.breaks, group)
        return self.breaks[k] if k < len(self.breaks) else len(self.upto) - 1

    def extras_left(self, group: int, left: int) -> bool:
        """Whether there are extra reads to come: ``left`` of ``group``, or of those after it."""
        return left > 0 or bool(self.extras[-1] > self.extras[min(group + 1, len(self.upto) - 1)])

    def done(self, place: Place) -> int:
        """Reads done in all."""
        left = place.extras + place.issues
        return self.upto[place.read + 1] - left if left else self.upto[place.read]

    def extras_done(self, place: Place) -> int:
        """Extra reads done in all."""
        return int(self.extras[min(place.read + 1, len(self.upto) - 1)]) - place.extras

    def wrote(self, place: Place) -> int:
        """Writes done in all."""
        return int(self.writes[place.written + 1]) - place.writes if place.writes else int(self.writes[place.written])

    def place(self, read: int, written: int, done: int, writes: int) -> Place:
        """With so many reads ``done`` and so many ``writes`` left (0: all of group ``written``)."""
        extras = issues = 0
        if read + 1 < len(self.upto):
            extras = max(int(self.extras[read + 1] - self.extras[read]) - (done - self.upto[read]), 0)
            issues = self.upto[read + 1] - done - extras
        if not writes and written + 1 < len(self.upto):
            writes = int(self.writes[written + 1] - self.writes[written])
        return Place(read, written, extras, issues, writes)


def _before(column: Counts) -> Counts:
    """The sums of all before each, and of all."""
    sums = np.zeros(len(column) + 1, np.int64)
    np.cumsum(column, out=sums[1:])
    return sums


class Leap(NamedTuple):
    """From ``start`` at ``origin`` to ``end`` at ``until``, while ``others`` alone may take the read ports."""

    totals: Sums
    origin: Place
    start: int
    end: Place
    until: int
    others: Intervals | None

    def spans(self) -> Iterator[Span]:
        """What both stages do for how long, in no order; what others take is looked at once, in arrays."""
        totals = self.totals
        first, last = totals.done(self.origin), totals.done(self.end)
        reads, writes = last - first, totals.wrote(self.end) - totals.wrote(self.origin)
        taken = self.until - self.start - reads
        extra = totals.extras_done(self.end) - totals.extras_done(self.origin)
        window = Window(self.others, self.start, self.until) if taken or extra else None
        taken_writing = self._taken_writing(window, first) if window and taken else 0
        extra_writing = self._extra_writing(window, first, last) if window and extra else 0
        issuing, writing = reads - extra, writes - taken_writing - extra_writing
        yield (True, True, False, "", "fifo"), issuing - writing
        yield (True, True, True, "", ""), writing
        yield (True, False, False, "port", "fifo"), extra - extra_writing
        yield (True, False, True, "port", ""), extra_writing
        yield (False, False, False, "port", "fifo"), taken - taken_writing
        yield (False, False, True, "port", ""), taken_writing

    def _taken_writing(self, window: Window, first: int) -> int:
        """Cycles in which others have the port and writes go on."""
        groups = np.searchsorted(self.totals.reads, window.slots + (first - self.start), "right") - 1
        lasts = self._writes_end(window, first, groups) - window.starts
        return int(np.clip(lasts, 0, window.ends - window.starts).sum())

    def _extra_writing(self, window: Window, first: int, last: int) -> int:
        """Cycles in which extra reads and writes go on."""
        totals, origin = self.totals, self.origin
        which = totals.with_extras
        groups = which[
            np.searchsorted(which, origin.read + (not origin.extras)) : np.searchsorted(which, self.end.read + 1)
        ]
        begun = np.maximum(totals.reads[groups], first)
        extras = totals.extras[groups + 1] - totals.extras[groups]
        if origin.extras:
            extras[0] = origin.extras
        slots = window.slots_before(self._writes_end(window, first, groups)) - (begun - first + self.start)
        return int(np.clip(np.minimum(slots, last - begun), 0, extras).sum())

    def _writes_end(self, window: Window, first: int, groups: Counts) -> Counts:
        """When the group before each has been written, or would have been if nothing else happened."""
        totals, origin = self.totals, self.origin
        since = window.cycles(totals.reads[groups] - first + self.start - 1) + 1
        ends = since + totals.writes[groups] - totals.writes[groups - 1]
        pending = origin.writes if origin.read > origin.written else 0
        return np.where(groups == origin.read, self.start + pending, ends)


def leap(totals: Sums, origin: Place, start: int, until: int, last: int, others: Intervals | None) -> Leap | None:
    """Read on from ``start`` to group ``last`` or to cycle ``until``, whichever comes first."""
    done, first = totals.done(origin), others.slots_before(start) if others else start
    free = (others.slots_before(until) if others else until) - first if until < NEVER else NEVER
    reads = min(free, totals.upto[last] - done)
    if reads <= 0:
        return None
    done += reads
    read = bisect_right(totals.upto, done, origin.read) - 1
    if done == totals.upto[last]:
        until = _slot(others, first + reads - 1) + 1
    since, writes = start, origin.writes if origin.read > origin.written else 0
    if read > origin.read:
        since = _slot(others, first + reads - (done - totals.upto[read]) - 1) + 1
        writes = int(totals.writes[read] - totals.writes[read - 1])
    left = max(writes - (until - since), 0)
    return Leap(totals, origin, start, totals.place(read, read - (left > 0), done, left), until, others)


def _slot(others: Intervals | None, number: int) -> int:
    return others.slot(number) if others else number


class Window:
    """What others take from ``start`` on, in arrays; a free slot's number is its cycle less what was taken before."""

    def __init__(self, others: Intervals | None, start: int, until: int) -> None:
        starts, ends = others.between(start, until) if others else ([], [])
        self.starts, self.ends = np.array(starts, np.int64), np.array(ends, np.int64)
        self.before = _before(self.ends - self.starts)
        self.slots = self.starts - self.before[:-1]

    def cycles(self, slots: Counts) -> Counts:
        """The cycle of each free slot."""
        if not len(self.starts):
            return slots
        found: Counts = slots + self.before[np.searchsorted(self.slots, slots, "right")]
        return found

    def slots_before(self, cycles: Counts) -> Counts:
        """The number of the first free slot from each cycle on."""
        if not len(self.starts):
            return cycles
        k = np.searchsorted(self.starts, cycles, "right")
        inside = np.where(k > 0, np.maximum(self.ends[k - 1] - cycles, 0), 0)
        found: Counts = cycles - self.before[k] + inside
        return found
