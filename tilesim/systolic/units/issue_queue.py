"""A unit's queue of instructions: taken up in order, syncs met on the way."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar, cast

import simpy

from tilesim.sim.core.clock import Clock, Phase
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.unit import Reason, Unit
from tilesim.sim.trace.recorder import Waker
from tilesim.systolic.isa.model.instructions import Instruction, Queue, Sync
from tilesim.systolic.units.retirement import Retirement

Op = TypeVar("Op", bound=Instruction)
Wait = Generator[simpy.Event, Any, None]


class IssueQueue(Generic[Op]):
    """The queue of ``unit``, from which it takes an instruction as soon as it is free.

    Timing: a sync whose count is reached takes no cycle; one whose count is reached at t lets its unit go on at t. It
    retires when it is met, but not before the instructions in front of it. Cycles of waiting are for a result
    (``raw``), or for an input if DMA in is waited for.
    """

    def __init__(self, clock: Clock, queue: Queue, unit: Unit, depth: int, retirement: Retirement) -> None:
        self.queue = queue
        self.unit = unit
        self.buffer: Fifo[Instruction] = Fifo(clock, depth)
        self.sync: Sync | None = None
        self._clock = clock
        self._retirement = retirement

    def next(self) -> Generator[simpy.Event, Any, Op]:
        """The next instruction that is no sync; those before it have been met."""
        while True:
            self.unit.instruction = ""
            op = self.buffer.get_now()
            if op is None:
                op = yield from self.unit.wait(self.buffer.get(), Reason.INSTRUCTION)
            yield from self.unit.begin(op.label)
            if not isinstance(op, Sync):
                return cast(Op, op)
            yield from self._meet(op)

    def begin(self, op: Op) -> Wait:
        """Begin ``op`` now, when everything that retires in this cycle has been written."""
        self._retirement.begun[op.label] = self._clock.cycle
        yield self._clock.phase(Phase.CLAIM)

    def retire(self, op: Instruction, cycle: int, write: Callable[[], None] | None = None) -> None:
        """Have ``op`` retire in ``cycle``; ``write`` then writes its results."""
        self._retirement.retire(self.queue, op, cycle, Waker(self.unit.track, op.label), write)

    def _meet(self, op: Sync) -> Wait:
        self._retirement.begun[op.label] = since = self._clock.cycle
        if not self._retirement.counts.met(op.until, op.count):
            self.sync = op
            reason = Reason.INPUT if op.until is Queue.DMA_IN else Reason.RAW
            reached = self._retirement.counts.reached(op.until, op.count)
            source = yield from self.unit.wait(reached, reason, lambda: self._describe(op))
            if self._clock.cycle > since:
                self.unit.woken_by(source)
            self.sync = None
        self.retire(op, self._clock.cycle)

    def _describe(self, op: Sync) -> str:
        so_far = self._retirement.counts.count(op.until)
        return f"{op.until.owner} to retire {op.count} instructions; so far it has retired {so_far}"
