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
    read: int = 0
    written: int = 0
    spent: list[int] = field(default_factory=lambda: [0, 0, 0])
    used: list[tuple[int, str]] = field(default_factory=list)
    """(cycle, stage) of every issue and every write."""

    @property
    def done(self) -> bool:
        return self.written == len(self.groups)

    def step(self, cycle: int, free: Counter[str]) -> tuple[bool, bool, bool, str]:
        """One cycle: whether it reads, issues, writes, and why it doesn't issue."""
        may_read = self.read < len(self.groups) and self.read - self.written < self.depth and self.read < self.limit
        writing = self.written < self.read and free[self.write] > 0
        reason = self._reason(writing)
        group = self.written
        if writing:
            free[self.write] -= 1
            self.spent[2] += 1
            self.used.append((cycle, "write"))
        reading, issuing = self._read(cycle, free) if may_read else (False, False)
        if writing and self.spent[2] == self.groups[group][2]:
            self.written, self.spent[2] = group + 1, 0
        return reading, issuing, writing, "" if issuing else reason

    def _reason(self, writing: bool) -> str:
        if self.limit <= self.read < len(self.groups):
            return "flag"
        full = self.read == len(self.groups) or self.read - self.written >= self.depth
        return "fifo" if full and writing else "port"

    def _read(self, cycle: int, free: Counter[str]) -> tuple[bool, bool]:
        extras, issues, _ = self.groups[self.read]
        reading = issuing = False
        while self.spent[0] < extras and free[self.extra] > 0:
            free[self.extra] -= 1
            self.spent[0] += 1
            reading = True
        beside = not reading or free[self.extra] > 0
        if self.spent[0] == extras and beside and all(free[port] > 0 for port in self.issue):
            for port in self.issue:
                free[port] -= 1
            self.spent[1] += 1
            self.used.append((cycle, "issue"))
            reading = issuing = True
        if self.spent[1] == issues:
            self.read, self.spent[:2] = self.read + 1, [0, 0]
        return reading, issuing
