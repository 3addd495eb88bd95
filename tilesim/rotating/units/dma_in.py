"""DMA in: rows from the host's memory into a RAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from simpy import Event

from tilesim.rotating.isa.model.instructions import Counter, Instruction, Ram, ReadHostMemory, Sync
from tilesim.rotating.topology import Topology
from tilesim.rotating.units.host_memory import HostMemory
from tilesim.rotating.units.row_memory import RowMemory
from tilesim.rotating.units.syncs import await_count
from tilesim.sim.core.action import Action
from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.sim.trace.recorder import Waker


class DmaIn:
    """Brings rows over the host's link, one after the other, and writes each in the cycle after its last byte, before
    whoever else wants a port. Nothing keeps it from that, so that two row buffers are enough.

    Timing: a row takes ``latency_cycles + ceil(row bytes / bytes_per_cycle)`` cycles of the link, which goes on with
    the next one; it is written in the cycle after, the unit's only busy one, and counted a cycle later. Source: that
    writes interrupt, and that a row takes 64 cycles of the bus, is as Ncore has it (WikiChip); the rest is an
    assumption.
    """

    def __init__(
        self,
        clock: Clock,
        unit: Unit,
        link: Unit,
        topology: Topology,
        rams: Mapping[Ram, RowMemory],
        counts: FlagFile,
        host: HostMemory,
    ) -> None:
        self.unit = unit
        self.link = link
        self.writes_in: set[int] = set()
        """Cycles in which a row is written into either RAM; said as soon as its link begins."""
        self._clock = clock
        self._topology = topology
        self._rams = rams
        self._counts = counts
        self._host = host

    def run(self, ops: Sequence[Instruction]) -> Work:
        """Carry out ``ops`` in order; over when the last row can be seen."""
        for op in ops:
            yield from self.unit.begin(op.label)
            if isinstance(op, Sync):
                yield from await_count(self.unit, self._counts, op.until, op.count, Reason.WORK)
            elif isinstance(op, ReadHostMemory):
                for number in range(op.rows):
                    yield from self._bring(op, number)
        self.unit.instruction = ""
        if self.unit.accounted_until > self._clock.cycle:
            yield self._clock.timeout(1)

    def _bring(self, op: ReadHostMemory, number: int) -> Work:
        unit, link, ram, cycles = self.unit, self.link, self._rams[op.ram], self._topology.link_cycles
        written_in = self._clock.cycle + cycles
        ram.use_for_writing(written_in)
        self.writes_in.add(written_in)
        link.spend("idle")
        link.instruction = op.label
        yield self._clock.timeout(cycles)
        link.spend(BUSY, moved_bytes=self._topology.row_bytes)
        unit.spend(Reason.HOST.kind)
        ram.rows[:, op.row + number] = self._host.row(op, number)
        unit.add(BUSY, 1)
        unit.act({Action.BUFFER_WRITE: self._topology.row_bytes})
        self._clock.timeout(1).callbacks.append(partial(self._count, unit.waker))

    def _count(self, waker: Waker, _: Event) -> None:
        self._counts.raise_by(Counter.DMA_IN, 1, waker)
