"""A pipe as its docstring tells it, one cycle after the other: slow, naive, and what the real one is held to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

Group: TypeAlias = tuple[int, int, int]
"""Extra reads, issue reads and writes of a group."""


@dataclass
class Toy:
    """``issue``, ``extra`` and ``write`` name ports; ``step`` takes what it uses from the accesses left there."""

    groups: list[Group]
    depth: int
    issue: list[str]
    extra: str
    write: str
    limit: int
    delay: int = 0
    write_limit: int = 1 << 30
    apart: list[int] = field(default_factory=list)
    read_every: int = 1
    write_every: int = 1
    read: int = 0
    written: int = 0
    seen: tuple[int, int] = (0, 0)
    ready: list[int] = field(default_factory=list)
    """For each group that was read, the cycle from which on it can be written."""
    spent: list[int] = field(default_factory=lambda: [0, 0, 0])
    used: list[tuple[int, str]] = field(default_factory=list)
    """(cycle, stage) of every issue and every write that needed a port."""

    @property
    def done(self) -> bool:
        return self.written == len(self.groups)

    def step(self, cycle: int, free: Counter[str]) -> tuple[bool, bool, bool, str, str, bool, bool]:
        """One cycle: whether it reads, issues, writes, what issues and writes wait for, whether they need ports."""
        self.look()
        accesses = self._reads_access(), self._writes_access()
        writes_wait = self.step_writes(cycle, free)
        reading, issuing, reads_wait = self.step_reads(cycle, free)
        return reading, issuing, not writes_wait, reads_wait, writes_wait, *accesses

    def _reads_access(self) -> bool:
        return self.seen[0] % self.read_every == 0

    def _writes_access(self) -> bool:
        return self.seen[1] % self.write_every == self.write_every - 1

    def look(self) -> None:
        """See the state at the start of a cycle, which both stages go by."""
        self.seen = self.read, self.written

    def step_writes(self, cycle: int, free: Counter[str]) -> str:
        wait = self._writes_wait(cycle, free)
        if not wait:
            if self._writes_access():
                free[self.write] -= 1
                self.used.append((cycle, "write"))
            self.spent[2] += 1
            if self.spent[2] == self.groups[self.written][2]:
                self.written, self.spent[2] = self.written + 1, 0
        return wait

    def step_reads(self, cycle: int, free: Counter[str]) -> tuple[bool, bool, str]:
        wait = self._reads_wait()
        reading, issuing = (False, False) if wait else self._read(cycle, free)
        return reading, issuing, wait if wait or issuing else "port"

    def _reads_wait(self) -> str:
        read, written = self.seen
        if self.limit <= read < len(self.groups):
            return "flag"
        if read == len(self.groups) or read - written >= self.depth:
            return "fifo"
        return "hazard" if self.apart and read - self.apart[read] >= written else ""

    def _writes_wait(self, cycle: int, free: Counter[str]) -> str:
        read, written = self.seen
        if written >= self.write_limit:
            return "flag"
        if written == read or cycle < self.ready[written]:
            return "fifo"
        return "" if free[self.write] > 0 or not self._writes_access() else "port"

    def _read(self, cycle: int, free: Counter[str]) -> tuple[bool, bool]:
        extras, issues, _ = self.groups[self.read]
        reading = issuing = False
        while self.spent[0] < extras and free[self.extra] > 0:
            free[self.extra] -= 1
            self.spent[0] += 1
            reading = True
        beside = not reading or free[self.extra] > 0
        ports = self.issue if self._reads_access() else []
        if self.spent[0] == extras and beside and all(free[port] > 0 for port in ports):
            for port in ports:
                free[port] -= 1
            self.spent[1] += 1
            self.used += [(cycle, "issue")] * self._reads_access()
            reading = issuing = True
        if self.spent[1] == issues:
            self.read, self.spent[:2] = self.read + 1, [0, 0]
            self.ready.append(cycle + 1 + self.delay)
        return reading, issuing
