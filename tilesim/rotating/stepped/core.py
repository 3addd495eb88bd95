"""What units are made of: the account of a unit's cycles, what syncs count, and instructions with names."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable
from dataclasses import replace

from tilesim.rotating.isa.model.instructions import Counter, Instruction, Queue, Sync

BUSY, IDLE = "busy", "idle"
INPUT, WEIGHTS, FIFO, RAW, PORT = "stall:input", "stall:weights", "stall:fifo", "stall:raw", "stall:port"
WORK, HOST = "stall:work", "stall:host"

Span = tuple[str, int, int, str, str]
"""Track, first cycle, cycles, kind, label of the instruction."""


class Account:
    """What the unit ``track`` did in each cycle of a section; cycles that nobody notes are idle."""

    def __init__(self, track: str) -> None:
        self.track = track
        self.stretches: list[tuple[int, int, str, str]] = []
        """First cycle, cycles, kind and instruction."""

    def note(self, cycle: int, kind: str, label: str = "") -> None:
        """In ``cycle``, later than all before, the unit does ``kind`` in the instruction ``label``."""
        if kind == IDLE:
            return
        if self.stretches:
            first, cycles, *doing = self.stretches[-1]
            if first + cycles == cycle and doing == [kind, label]:
                self.stretches[-1] = (first, cycles + 1, kind, label)
                return
        self.stretches.append((cycle, 1, kind, label))

    def cycles(self, section_cycles: int) -> dict[str, int]:
        """The cycles of each kind of a section that has so many."""
        tally = Tally({BUSY: 0, IDLE: section_cycles})
        for _, cycles, kind, _ in self.stretches:
            tally[kind] += cycles
            tally[IDLE] -= cycles
        return dict(tally)

    def spans(self, start: int) -> list[Span]:
        """What it did, in a section that began in cycle ``start``."""
        return [(self.track, start + first, cycles, kind, label) for first, cycles, kind, label in self.stretches]


class Counters:
    """What syncs wait for. Timing: what happens in cycle t is counted at the start of t + 1."""

    def __init__(self) -> None:
        self._counts: Tally[Counter] = Tally()
        self._events: list[Counter] = []

    def happen(self, counter: Counter) -> None:
        self._events.append(counter)

    def met(self, sync: Sync, loops: tuple[int, ...] = ()) -> bool:
        """Whether the counter has come to what ``sync`` waits for, where the loops around have counted so far."""
        moved = sum(stride * counter for stride, counter in zip(sync.strides, loops, strict=False))
        return self._counts[sync.until] >= sync.count + moved

    def commit(self) -> None:
        """The cycle ends."""
        self._counts.update(self._events)
        self._events.clear()


def named(instructions: Iterable[Instruction], section: str) -> list[Instruction]:
    """The instructions of a section, each with a label."""
    return [op if op.label else replace(op, label=f"{section}[{k}]") for k, op in enumerate(instructions)]


def queue_of(instructions: Iterable[Instruction], queue: Queue) -> list[Instruction]:
    """Those that the unit of ``queue`` carries out, in order."""
    return [op for op in instructions if op.queue is queue]
