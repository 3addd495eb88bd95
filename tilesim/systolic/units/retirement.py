"""Retiring: results are written, then counted for those who wait for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import simpy

from tilesim.sim.core.clock import Clock, Phase
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.trace.recorder import Waker
from tilesim.systolic.isa.model.instructions import Instruction, Queue

ORDER = {queue: rank for rank, queue in enumerate(Queue)}


Due: TypeAlias = tuple[Queue, str, Waker, Callable[[], None] | None]
"""What retires: the queue and the label of an instruction, whoever ran it, and what writes its results."""


class Retirement:
    """The sequencer's counters: how many instructions of each queue have retired since the section began.

    A queue retires in order: an instruction with or after the one before it. What retires in one cycle writes its
    results in the *arbitrate* phase, in the order of the queues; then it is counted, and whoever waits for a count goes
    on in that cycle. Units read operands after that, in the *claim* phase of the cycle in which they begin.

    ``begun`` and ``retired`` are the cycles of every instruction of the section, by label; ``outstanding`` is how many
    were dispatched and have not retired.
    """

    def __init__(self, clock: Clock, on_retired: Callable[[str], None]) -> None:
        self.begun: dict[str, int] = {}
        self.retired: dict[str, int] = {}
        self.counts = FlagFile(clock)
        self.outstanding = 0
        self._clock = clock
        self._on_retired = on_retired
        self._due: dict[int, list[Due]] = {}
        self._last: dict[Queue, int] = {}
        self._drained: simpy.Event | None = None

    def restart(self) -> None:
        """A section begins."""
        self.begun, self.retired = {}, {}
        for queue in Queue:
            self.counts.reset(queue)

    def stand(self, labels: Iterable[str], end: int) -> None:
        """The section can't go on: what has not begun, or not retired, does so at its ``end``."""
        for label in labels:
            self.begun.setdefault(label, end)
            self.retired.setdefault(label, end)

    def retire(
        self, queue: Queue, op: Instruction, cycle: int, source: Waker, write: Callable[[], None] | None = None
    ) -> None:
        """Have ``op`` retire in ``cycle``, or with the one before it if that is later; ``write`` writes its results."""
        cycle = self._last[queue] = max(cycle, self._last.get(queue, 0))
        if cycle not in self._due:
            self._due[cycle] = []
            event = self._clock.phase(Phase.ARBITRATE, cycle - self._clock.cycle)
            event.callbacks.append(lambda _: self._retire_all(cycle))
        self._due[cycle].append((queue, op.label, source, write))

    def drained(self) -> simpy.Event:
        """When everything that was dispatched has retired."""
        drained = self._drained = self._clock.event()
        self._tell()
        return drained

    def _retire_all(self, cycle: int) -> None:
        due = sorted(self._due.pop(cycle), key=lambda retiring: ORDER[retiring[0]])
        for _, label, _, write in due:
            if write is not None:
                write()
            self.retired[label] = cycle
            self._on_retired(label)
        for queue, _, source, _ in due:
            self.counts.raise_by(queue, 1, source)
        self.outstanding -= len(due)
        self._tell()

    def _tell(self) -> None:
        if self._drained is not None and not self.outstanding:
            drained, self._drained = self._drained, None
            drained.succeed()
