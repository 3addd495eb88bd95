"""Who last wrote, and who has since read, each part of a memory."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from tilesim.systolic.isa.model.instructions import Queue


class User(NamedTuple):
    """The instruction number ``number``, from 1 on, of a queue."""

    queue: Queue
    number: int


@dataclass
class _Part:
    """A range that has been used alike all over."""

    writer: User | None = None
    readers: dict[Queue, int] = field(default_factory=dict)

    def copy(self) -> _Part:
        return _Part(self.writer, dict(self.readers))


@dataclass
class Users:
    """Parts of a memory, from each of ``starts`` up to the next."""

    starts: list[int] = field(default_factory=lambda: [0])
    parts: list[_Part] = field(default_factory=lambda: [_Part()])

    def read(self, first: int, end: int, by: User) -> list[User]:
        """Note a read; who has to be done before it."""
        low, high = self._cut(first), self._cut(end)
        before = []
        for part in self.parts[low:high]:
            if part.writer is not None:
                before.append(part.writer)
            part.readers[by.queue] = by.number
        return before

    def write(self, first: int, end: int, by: User) -> list[User]:
        """Note a write; who has to be done before it."""
        low, high = self._cut(first), self._cut(end)
        before = []
        for part in self.parts[low:high]:
            before += [User(queue, number) for queue, number in part.readers.items()]
            if part.writer is not None:
                before.append(part.writer)
        if low < high:
            self.starts[low:high], self.parts[low:high] = [first], [_Part(by)]
        return before

    def _cut(self, address: int) -> int:
        """The number of the part that begins at an address, which is made."""
        place = bisect_left(self.starts, address)
        if place == len(self.starts) or self.starts[place] != address:
            self.starts.insert(place, address)
            self.parts.insert(place, self.parts[place - 1].copy())
        return place
