"""Work on memories that is put off until somebody could tell.

A unit may finish a piece of its work every few cycles, while what the whole of it does to its memories is worked out
fastest in one go. What is late is as good as done: whoever reads bytes that it writes, or writes bytes that it reads or
writes, has it done first. So works that are late at the same time don't concern one another, and their order is free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tilesim.sim.core.memory import Memory

Spans: TypeAlias = Sequence[tuple["Memory", int, int]]
"""Memories, each with the first byte of a span of it and the end."""


class Late:
    """Pieces of a work, numbered in order, of which those from one to another are late.

    ``reads`` and ``writes`` hold all bytes that any piece reads or writes; ``work(first, end)`` does the pieces from
    ``first`` up to ``end``.
    """

    def __init__(self, reads: Spans, writes: Spans, work: Callable[[int, int], None]) -> None:
        self._reads, self._writes, self._work = reads, writes, work
        self._first = self._end = 0

    def add(self, first: int, end: int) -> None:
        """The pieces ``first`` to ``end``, which follow what was added before, are late."""
        if self._first == self._end:
            self._begin()
            self._first = first
        self._end = end

    def do(self, first: int, end: int) -> None:
        """The pieces ``first`` to ``end``, which follow what was added before, are not to be late."""
        self.add(first, end)
        self.settle()

    def settle(self) -> None:
        """Do now what is late."""
        if self._first < self._end:
            first, self._first = self._first, self._end
            for memory in self._memories():
                memory.late.remove(self)
            self._work(first, self._end)

    def concerns(self, memory: Memory, first: int, end: int, writing: bool) -> bool:
        """Whether bytes of ``memory`` from ``first`` up to ``end`` must not be read, or written, before it is done."""
        return _meet(self._writes, memory, first, end) or (writing and _meet(self._reads, memory, first, end))

    def _begin(self) -> None:
        for memory, first, end in self._reads:
            memory.settle(first, end, writing=False)
        for memory, first, end in self._writes:
            memory.settle(first, end, writing=True)
        for memory in self._memories():
            memory.late.append(self)

    def _memories(self) -> set[Memory]:
        return {memory for memory, _, _ in (*self._reads, *self._writes)}


def _meet(spans: Spans, memory: Memory, first: int, end: int) -> bool:
    return any(low < end and first < high for where, low, high in spans if where is memory)
