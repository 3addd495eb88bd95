"""The sequencer: from the host's stream of instructions to the units' queues."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import simpy

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.logged import LoggedUnit
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.sim.trace.recorder import Waker
from tilesim.systolic.isa.encoding import length_bytes
from tilesim.systolic.isa.model.instructions import Halt, Instruction, Nop, Queue, Sync
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.retirement import Retirement

Work = Generator[simpy.Event, Any, None]


class Sequencer:
    """Takes instructions in the order in which they come, one a cycle, and puts each into the queue of its unit.

    Timing: with b_k the bytes of instructions 0 to k, instruction k is there ceil(b_k / instruction_bytes_per_cycle)
    cycles after the section began, and in its queue ``pipeline_cycles`` later, a cycle after the one before it at the
    earliest, and not before there is a place; meanwhile the host's stream goes on into a buffer in front of the
    sequencer. A nop takes a cycle. It is busy in the cycle in which it issues, stalls (``fifo``) before a full queue,
    and (``work``) at a halt, which ends the section in the cycle in which everything has retired. Source: Jouppi et
    al., ISCA 2017, section 2, for four stages; a buffer that is large enough is an assumption.
    """

    def __init__(
        self,
        clock: Clock,
        unit: LoggedUnit,
        link: Unit,
        topology: Topology,
        queues: Mapping[Queue, Fifo[Instruction]],
        retirement: Retirement,
    ) -> None:
        self.unit = unit
        self.link = link
        self.halted = False
        self._clock = clock
        self._pipeline_cycles = topology.sequencer.pipeline_cycles
        self._bytes_per_cycle = topology.host.instruction_bytes_per_cycle
        self._queues = queues
        self._retirement = retirement
        self._dispatched: dict[Queue, list[str]] = {}
        """For each instruction of a queue it or, if it is a sync, the last one before it that is none."""

    def run(self, instructions: Sequence[Instruction], halted: simpy.Event) -> Work:
        """Issue ``instructions`` up to the first halt; ``halted`` happens when everything is over."""
        self.halted, self._dispatched = False, {}
        start, come = self._clock.cycle, 0
        for op in instructions:
            come = self._receive(op, start, come)
            ready = start + -(-come // self._bytes_per_cycle) + self._pipeline_cycles
            if ready > self._clock.cycle:
                self.unit.instruction = ""
                yield from self.unit.wait(self._clock.timeout(ready - self._clock.cycle), Reason.INSTRUCTION)
            self.unit.instruction = op.label
            if isinstance(op, Halt):
                yield from self._halt()
                halted.succeed()
                return
            if not isinstance(op, Nop):
                yield from self._dispatch(op)
            yield self._clock.timeout(1)
            self.unit.spend(BUSY)
        self.unit.instruction = ""

    def _receive(self, op: Instruction, start: int, come: int) -> int:
        """Book the link's cycles for ``op``, before which ``come`` bytes came; how many have come with it."""
        length = length_bytes(op)
        self.link.instruction = op.label
        self.link.spend(BUSY, start + -(-(come + length) // self._bytes_per_cycle), length)
        return come + length

    def _dispatch(self, op: Instruction) -> Work:
        assert op.queue is not None
        queue = op.queue
        room = self._queues[queue].room()
        if not room.triggered:
            yield from self.unit.wait(room, Reason.FIFO, lambda: f"a place in the queue of {queue.owner}")
            self.unit.woken_by(self._finished(queue))
        before = self._dispatched.setdefault(queue, [""])
        before.append(before[-1] if isinstance(op, Sync) else op.label)
        self._retirement.outstanding += 1
        self._queues[queue].put(op)

    def _finished(self, queue: Queue) -> Waker:
        """What a unit was done with when it took the instruction whose place in its full queue is free now."""
        return Waker(f"chip.{queue}", self._dispatched[queue][-self._queues[queue].depth - 1])

    def _halt(self) -> Work:
        drained = self._retirement.drained()
        if not drained.triggered:
            left = self._retirement
            yield from self.unit.wait(
                drained, Reason.WORK, lambda: f"all units to retire everything; {left.outstanding} are left"
            )
        self.halted = True
