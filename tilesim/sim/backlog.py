"""Writes that follow each other without a gap, because the queue is full again before each of them ends.

If a group is read, in the slots that others leave, within the writes of the one that it found at the head of the full
queue, nothing depends on the reads: the one that stands ``depth`` before it has been written when all writes up to its
last have taken their cycles. Reading starts there, and waits for a place in the queue otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tilesim.sim.core.port import Intervals
from tilesim.sim.leap import Place, Span, Sums, Window


class Backlog(NamedTuple):
    """From ``origin`` at ``start``, with a full queue, to ``end`` at ``until``: a group has just been written.

    ``taken``: cycles in which others have the port while there is something to read.
    """

    totals: Sums
    origin: Place
    start: int
    end: Place
    until: int
    taken: int

    def spans(self) -> Iterator[Span]:
        """What both stages do for how long, in no order."""
        totals, first, end = self.totals, self.origin.read, self.end.read
        reads = int(totals.reads[end] - totals.reads[first])
        extra = int(totals.extras[end] - totals.extras[first])
        yield (True, True, True, "", ""), reads - extra
        yield (True, False, True, "port", ""), extra
        yield (False, False, True, "port", ""), self.taken
        yield (False, False, True, "fifo", ""), self.until - self.start - reads - self.taken


def backlog(totals: Sums, origin: Place, start: int, until: int, last: int, others: Intervals | None) -> Backlog | None:
    """Write on from ``start`` until at most group ``last`` has been read or cycle ``until`` has come."""
    read, written = origin.read, origin.written
    if totals.apart is not None:
        hazards = totals.apart[read:last] < read - written
        last = read + int(hazards.argmax()) if hazards.any() else last
    if last <= read:
        return None
    ends = totals.writes[written + 1 : written + 2 + last - read] + (start + origin.writes - totals.writes[written + 1])
    window = Window(others, start, min(until, int(ends[-1])))
    slots = window.slots_before(ends)
    reads = totals.reads[read : last + 1]
    late = (slots[1:] - slots[:-1] < reads[1:] - reads[:-1]) | (ends[1:] > until)
    groups = int(late.argmax()) if late.any() else len(late)
    if groups < 1:
        return None
    costs = reads[1 : groups + 1] - reads[:groups]
    through = window.cycles(slots[:groups] + costs - 1) + 1
    taken = int((through - ends[:groups] - costs).sum())
    end = totals.place(read + groups, written + groups + 1, totals.upto[read + groups], 0)
    return Backlog(totals, origin, start, end, int(ends[groups]), taken)
