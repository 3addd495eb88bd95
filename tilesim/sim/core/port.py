"""A memory port: a few accesses a cycle, granted by a fixed priority."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from enum import Enum, auto
from itertools import accumulate, islice
from operator import sub

NEVER = 1 << 62
"""A cycle after every run."""

CROWD = 256
"""Intervals that a client may keep of its past without a look whether anybody needs them."""

_Spans = tuple["array[int]", "array[int]"]


class Change(Enum):
    """What is new in what a client tells of its accesses: nothing, more of them, later, or anything else."""

    NONE = auto()
    MORE = auto()
    OTHER = auto()


class Intervals:
    """Cycles in which a client has the port: sorted, disjoint [start, end).

    The other cycles are free slots, numbered through from a cycle on that is the same for all questions: with
    ``before`` cycles taken before an interval, the slots before it are those up to ``start - before``.
    """

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        self._forgotten = 0
        self._before: list[int] = []
        self._slots: list[int] = []
        self._most = CROWD

    @property
    def crowded(self) -> bool:
        """Whether it is time to forget some of the past."""
        return len(self.starts) > self._most

    def append(self, start: int, end: int) -> None:
        self._append(start, end)

    def replace(self, cycle: int, others: Intervals) -> Change:
        """From ``cycle`` on, take what ``others`` do instead."""
        before, after = self.since(cycle), (others.starts, others.ends)
        if before == after:
            return Change.NONE
        self.retell(cycle, *after)
        return Change.MORE if _goes_on(before, after) else Change.OTHER

    def retell(self, cycle: int, starts: array[int], ends: array[int]) -> None:
        """From ``cycle`` on, take what is given instead."""
        self.cut(cycle)
        if starts and self.ends and self.ends[-1] == starts[0]:
            del self.ends[-1]
            starts = starts[1:]
        self.starts.extend(starts)
        self.ends.extend(ends)

    def repeat(self, pattern: Intervals, start: int, period: int, times: int) -> None:
        """Append ``pattern``, which lasts ``period`` cycles, ``times`` times from ``start`` on."""
        if len(pattern.ends) == 1 and pattern.ends[0] == period and pattern.starts[0] == 0:
            self._append(start, start + period * times)
        else:
            for at in range(start, start + period * times, period):
                for first, end in zip(pattern.starts, pattern.ends, strict=True):
                    self._append(at + first, at + end)

    def since(self, cycle: int) -> _Spans:
        """Starts and ends of what lies at or after ``cycle``."""
        k = bisect_right(self.ends, cycle)
        starts = self.starts[k:]
        if starts:
            starts[0] = max(starts[0], cycle)
        return starts, self.ends[k:]

    def between(self, cycle: int, end: int) -> _Spans:
        """Starts and ends of what lies in [cycle, end), cut to it."""
        first, last = bisect_right(self.ends, cycle), bisect_left(self.starts, end)
        starts, ends = self.starts[first:last], self.ends[first:last]
        if starts:
            starts[0], ends[-1] = max(starts[0], cycle), min(ends[-1], end)
        return starts, ends

    def cut(self, cycle: int) -> None:
        """Forget everything from ``cycle`` on."""
        kept = bisect_left(self.starts, cycle)
        del self.starts[kept:], self.ends[kept:], self._before[kept:], self._slots[kept:]
        if kept and self.ends[-1] > cycle:
            self.ends[-1] = cycle

    def prune(self, cycle: int) -> None:
        """Forget what ended before ``cycle``; nobody asks for it again."""
        past = bisect_left(self.ends, cycle)
        self._forgotten += sum(self.ends[:past]) - sum(self.starts[:past])
        del self.starts[:past], self.ends[:past], self._before[:past], self._slots[:past]
        self._most = max(CROWD, 2 * len(self.starts))

    def _append(self, start: int, end: int) -> None:
        if self.ends and self.ends[-1] == start:
            self.ends[-1] = end
        else:
            self.starts.append(start)
            self.ends.append(end)

    def at(self, cycle: int) -> tuple[bool, int]:
        """Whether the port is taken in ``cycle``, and the next cycle in which that changes."""
        k = bisect_right(self.starts, cycle) - 1
        if k >= 0 and cycle < self.ends[k]:
            return True, self.ends[k]
        return False, self.starts[k + 1] if k + 1 < len(self.starts) else NEVER

    def slots_before(self, cycle: int) -> int:
        """The number of the first free slot from ``cycle`` on."""
        k = bisect_right(self.starts, cycle) - 1
        if k < 0:
            return cycle - self._forgotten
        self._count()
        return cycle - self._before[k] - min(cycle, self.ends[k]) + self.starts[k]

    def slot(self, number: int) -> int:
        """The cycle of a free slot."""
        self._count()
        k = bisect_right(self._slots, number) - 1
        return number + (self._before[k] + self.ends[k] - self.starts[k] if k >= 0 else self._forgotten)

    def _count(self) -> None:
        """Bring the counts of free slots up to date with what has been appended."""
        before, starts, ends, k = self._before, self.starts, self.ends, len(self._before)
        if k == len(starts):
            return
        total = before[-1] + ends[k - 1] - starts[k - 1] if k else self._forgotten
        before.extend(islice(accumulate(map(sub, ends[k:], starts[k:]), initial=total), len(starts) - k))
        self._slots.extend(map(sub, starts[k:], before[k:]))


def _goes_on(before: _Spans, after: _Spans) -> bool:
    """Whether what was taken ``before`` still is, and at most more, later."""
    (starts, ends), (new_starts, new_ends), n = before, after, len(before[0])
    return not n or (starts == new_starts[:n] and ends[:-1] == new_ends[: n - 1] and new_ends[n - 1] >= ends[-1])


class Port:
    """``capacity`` accesses a cycle, for clients ranked from 0, the highest priority.

    Each client but the lowest states its accesses as intervals of cycles, past ones as they were and future ones as
    they will be unless something changes; a client sees what those above it leave.
    """

    def __init__(self, name: str, capacity: int, ranks: int) -> None:
        self.name = name
        self.capacity = capacity
        self.taken = tuple(Intervals() for _ in range(ranks))

    def above(self, rank: int, cycle: int) -> list[Intervals]:
        """What those above ``rank`` take that have any access at or after ``cycle``."""
        return [taken for taken in self.taken[:rank] if taken.ends and taken.ends[-1] > cycle]

    def free(self, rank: int, cycle: int) -> tuple[int, int]:
        """How many accesses those above ``rank`` leave in ``cycle``, and until when that stays so.

        While clients are planned one after the other, what those above have told may be more than there are accesses.
        """
        free, until = self.capacity, NEVER
        for higher in self.taken[:rank]:
            ends = higher.ends
            if ends and ends[-1] > cycle:
                taken, change = higher.at(cycle)
                free -= taken
                until = min(until, change)
        return max(free, 0), until
