"""A memory port: a few accesses a cycle, granted by a fixed priority."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from enum import Enum, auto

from msgspec import Struct

NEVER = 1 << 62
"""A cycle after every run."""

_Spans = tuple[list[int], list[int]]


class Change(Enum):
    """What is new in what a client tells of its accesses: nothing, more of them, later, or anything else."""

    NONE = auto()
    MORE = auto()
    OTHER = auto()


class Intervals:
    """Cycles in which a client has the port: sorted, disjoint [start, end)."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def replace(self, cycle: int, others: Intervals) -> Change:
        """From ``cycle`` on, take what ``others`` do instead."""
        before, (starts, ends) = self.since(cycle), (others.starts, others.ends)
        if before == (starts, ends):
            return Change.NONE
        self.cut(cycle)
        if starts and self.ends and self.ends[-1] == starts[0]:
            del self.ends[-1]
            starts = starts[1:]
        self.starts.extend(starts)
        self.ends.extend(ends)
        return Change.MORE if _goes_on(before, (others.starts, others.ends)) else Change.OTHER

    def repeat(self, pattern: Intervals, start: int, period: int, times: int) -> None:
        """Append ``pattern``, which lasts ``period`` cycles, ``times`` times from ``start`` on."""
        if len(pattern.ends) == 1 and pattern.ends[0] == period and pattern.starts[0] == 0:
            self.append(start, start + period * times)
        else:
            for at in range(start, start + period * times, period):
                for first, end in zip(pattern.starts, pattern.ends, strict=True):
                    self.append(at + first, at + end)

    def since(self, cycle: int) -> _Spans:
        """Starts and ends of what lies at or after ``cycle``."""
        k = bisect_right(self.ends, cycle)
        starts = self.starts[k:]
        if starts:
            starts[0] = max(starts[0], cycle)
        return starts, self.ends[k:]

    def cut(self, cycle: int) -> None:
        """Forget everything from ``cycle`` on."""
        kept = bisect_left(self.starts, cycle)
        del self.starts[kept:], self.ends[kept:]
        if kept and self.ends[-1] > cycle:
            self.ends[-1] = cycle

    def append(self, start: int, end: int) -> None:
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
        self._above = [self.taken[:rank] for rank in range(ranks)]

    def free(self, rank: int, cycle: int) -> tuple[int, int]:
        """How many accesses those above ``rank`` leave in ``cycle``, and until when that stays so.

        While clients are planned one after the other, what those above have told may be more than there are accesses.
        """
        free, until = self.capacity, NEVER
        for higher in self._above[rank]:
            ends = higher.ends
            if ends and ends[-1] > cycle:
                taken, change = higher.at(cycle)
                free -= taken
                until = min(until, change)
        return max(free, 0), until


class Slot(Struct, frozen=True):
    """A port and the rank with which a stage asks for it."""

    port: Port
    rank: int
