"""A memory port: a few accesses a cycle, granted by a fixed priority."""

from __future__ import annotations

from bisect import bisect_right

NEVER = 1 << 62
"""A cycle after every run."""


class Intervals:
    """Cycles in which a client has the port: sorted, disjoint [start, end)."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def append(self, start: int, end: int) -> None:
        if self.ends and self.ends[-1] == start:
            self.ends[-1] = end
        else:
            self.starts.append(start)
            self.ends.append(end)

    def repeat(self, pattern: Intervals, start: int, period: int, times: int) -> None:
        """Append ``pattern``, which lasts ``period`` cycles, ``times`` times from ``start`` on."""
        if pattern.ends == [period] and pattern.starts == [0]:
            self.append(start, start + period * times)
            return
        for at in range(start, start + period * times, period):
            for first, end in zip(pattern.starts, pattern.ends, strict=True):
                self.append(at + first, at + end)

    def since(self, cycle: int) -> tuple[list[int], list[int]]:
        """Starts and ends of what lies at or after ``cycle``."""
        k = bisect_right(self.ends, cycle)
        return [max(start, cycle) for start in self.starts[k : k + 1]] + self.starts[k + 1 :], self.ends[k:]

    def cut(self, cycle: int) -> None:
        """Forget everything from ``cycle`` on."""
        while self.starts and self.starts[-1] >= cycle:
            self.starts.pop()
            self.ends.pop()
        if self.ends and self.ends[-1] > cycle:
            self.ends[-1] = cycle

    def at(self, cycle: int) -> tuple[bool, int]:
        """Whether the port is taken in ``cycle``, and the next cycle in which that changes."""
        k = bisect_right(self.starts, cycle) - 1
        if k >= 0 and cycle < self.ends[k]:
            return True, self.ends[k]
        return False, self.starts[k + 1] if k + 1 < len(self.starts) else NEVER


class Port:
    """``capacity`` accesses a cycle, for clients ranked from 0, the highest priority.

    Each client but the lowest states its accesses as intervals of cycles, past ones as they were and future ones as
    they will be unless something changes; a client sees what those above it leave.
    """

    def __init__(self, name: str, capacity: int, ranks: int) -> None:
        self.name = name
        self.capacity = capacity
        self.taken = [Intervals() for _ in range(ranks)]

    def free(self, rank: int, cycle: int) -> tuple[int, int]:
        """How many accesses those above ``rank`` leave in ``cycle``, and until when that stays so.

        While clients are planned one after the other, what those above have told may be more than there are accesses.
        """
        free, until = self.capacity, NEVER
        for higher in self.taken[:rank]:
            if higher.starts:
                taken, change = higher.at(cycle)
                free -= taken
                until = min(until, change)
        return max(free, 0), until
