"""Syncs between the queues: who waits for whom follows from what instructions read and write."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tilesim.systolic.isa.checks.footprints import ACCUMULATORS, BUFFER, SIZES, Footprint, MemoryAccess, accesses
from tilesim.systolic.isa.model.instructions import Instruction, MatrixMultiply, Pool, Queue, Sync, Window
from tilesim.systolic.topology import Topology


def touched(op: Instruction, topology: Topology) -> list[MemoryAccess]:
    """What an instruction reads and writes of the buffer and the accumulators, of maps all rows that its windows reach,
    for these come and are made row by row.
    """
    others = [it for it in accesses(op, topology) if it.memory in (BUFFER, ACCUMULATORS) and it.field != "window"]
    if isinstance(op, MatrixMultiply):
        rows = _rows(op.window, op.first, op.vectors, SIZES[op.activations])
    elif isinstance(op, Pool):
        rows = _rows(op.window, 0, op.window.positions, SIZES[op.element])
    else:
        return others
    return [MemoryAccess("window", BUFFER, rows), *others]


def _rows(window: Window, first: int, positions: int, size: int) -> Footprint:
    """The rows of maps that the windows of some positions reach, gaps between rows and images included."""
    an_image = window.output_height * window.output_width
    start, end = divmod(first, an_image), divmod(first + positions - 1, an_image)
    below = (window.kernel[0] - 1) * window.dilations[0] + 1
    top = start[1] // window.output_width * window.strides[0] - window.padding[0]
    bottom = end[1] // window.output_width * window.strides[0] - window.padding[0] + below
    low = start[0] * window.image_bytes + min(max(top, 0), window.height) * window.row_bytes
    high = end[0] * window.image_bytes + min(max(bottom, 0), window.height) * window.row_bytes
    beyond = window.row_bytes - (window.width - 1) * window.pixel_bytes - window.channels * size
    return Footprint(window.address + low, window.address + max(low, high - beyond))


class User(NamedTuple):
    """The instruction number ``number``, from 1 on, of a queue."""

    queue: Queue
    number: int


@dataclass
class Users:
    """A memory in parts, from each of ``starts`` up to the next, that have been used alike all over: by their
    ``writers``, and since then by ``readers``, of each queue the last one.
    """

    starts: list[int] = field(default_factory=lambda: [0])
    writers: list[User | None] = field(default_factory=lambda: [None])
    readers: list[dict[Queue, int]] = field(default_factory=lambda: [{}])

    def use(self, access: MemoryAccess, by: User) -> list[User]:
        """Note an access; who has to be done before it."""
        parts = slice(self._cut(access.footprint.first), self._cut(access.footprint.end))
        before: list[User] = []
        for writer, readers in zip(self.writers[parts], self.readers[parts], strict=True):
            if access.writes:
                before += (User(*reader) for reader in readers.items())
            else:
                readers[by.queue] = by.number
            if writer is not None:
                before.append(writer)
        if access.writes and parts.start < parts.stop:
            self.starts[parts], self.writers[parts], self.readers[parts] = [access.footprint.first], [by], [{}]
        return before

    def _cut(self, address: int) -> int:
        """The number of the part that begins at an address, which is made."""
        place = bisect_left(self.starts, address)
        if place == len(self.starts) or self.starts[place] != address:
            self.starts.insert(place, address)
            self.writers.insert(place, self.writers[place - 1])
            self.readers.insert(place, dict(self.readers[place - 1]))
        return place


Clock = dict[Queue, int]
"""How many instructions of each queue, syncs left out, are known to be done."""


def synchronised(ops: Iterable[Instruction], topology: Topology) -> tuple[Instruction, ...]:
    """Instructions, in an order in which they would be right one after the other, with the syncs that make them right
    in queues side by side. None waits for a later one, and none for what its other waits imply.
    """
    emitter = _Emitter(topology)
    for op in ops:
        emitter.emit(op)
    return tuple(emitter.instructions)


def _nothing() -> Clock:
    return dict.fromkeys(Queue, 0)


@dataclass
class _Emitter:
    """``counts``: instructions of each queue so far, ``works`` without syncs; ``known``: what is done when the next one
    of a queue begins; ``begun``: what was when one began, and its number among all of its queue.
    """

    topology: Topology
    instructions: list[Instruction] = field(default_factory=list)
    counts: Clock = field(default_factory=_nothing)
    works: Clock = field(default_factory=_nothing)
    known: dict[Queue, Clock] = field(default_factory=lambda: {queue: _nothing() for queue in Queue})
    begun: dict[User, tuple[int, Clock]] = field(default_factory=dict)
    users: dict[str, Users] = field(default_factory=lambda: {BUFFER: Users(), ACCUMULATORS: Users()})

    def emit(self, op: Instruction) -> None:
        queue = op.queue
        if queue is not None:
            self.works[queue] += 1
            user = User(queue, self.works[queue])
            for before in self._waits(self._conflicts(op, user), self.known[queue]):
                self._wait(op, before)
            self.counts[queue] += 1
            self.begun[user] = self.counts[queue], dict(self.known[queue])
        self.instructions.append(op)

    def _conflicts(self, op: Instruction, user: User) -> Clock:
        """The last instruction of each queue that has to be done before this one begins.

        Queues write in order. Only the vector unit may begin before what it wrote last is there.
        """
        last: Clock = {}
        for access in touched(op, self.topology):
            for queue, number in self.users[access.memory].use(access, user):
                if queue is not user.queue or (queue is Queue.VECTOR and not access.writes):
                    last[queue] = max(last.get(queue, 0), number)
        return last

    def _waits(self, conflicts: Clock, known: Clock) -> list[User]:
        """Those that are not known to be done, nor implied by another of them, which could begin only behind them."""
        open_ = [User(queue, number) for queue, number in conflicts.items() if number > known[queue]]
        return [
            user
            for user in open_
            if not any(self.begun[other][1][user.queue] >= user.number for other in open_ if other != user)
        ]

    def _wait(self, op: Instruction, until: User) -> None:
        queue = op.queue
        assert queue is not None
        number, before = self.begun[until]
        self.counts[queue] += 1
        self.instructions.append(Sync(unit=queue, until=until.queue, count=number, layer=op.layer))
        known = self.known[queue]
        for other, done in before.items():
            known[other] = max(known[other], done)
        known[until.queue] = max(known[until.queue], until.number)
