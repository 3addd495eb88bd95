"""DMA out: rows of the data RAM to the host's memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from simpy import Event

from tilesim.rotating.isa.model.instructions import Counter, Instruction, Sync, WriteHostMemory
from tilesim.rotating.topology import Topology
from tilesim.rotating.units.host_memory import HostMemory
from tilesim.rotating.units.row_memory import RowMemory
from tilesim.rotating.units.syncs import await_count
from tilesim.sim.core.action import Action
from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.memory import Bytes
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.sim.trace.recorder import Waker

BUFFERS = 2
"""Rows that wait for the link, or are on it."""


class DmaOut:
    """Reads rows, one a cycle at most, and sends them over the host's link.

    Timing: a row that is read in t is on the link from t + 1 on, or from the end of the row before, for
    ``latency_cycles + ceil(row bytes / bytes_per_cycle)`` cycles, and counted after the last. It keeps one of two
    buffers from t on until then. Source: assumption.
    """

    def __init__(
        self,
        clock: Clock,
        unit: Unit,
        link: Unit,
        topology: Topology,
        ram: RowMemory,
        counts: FlagFile,
        host: HostMemory,
    ) -> None:
        self.unit = unit
        self.link = link
        self._clock = clock
        self._topology = topology
        self._ram = ram
        self._counts = counts
        self._host = host
        self._leaves: list[int] = []
        """For each row that is in a buffer, from which cycle on it is not."""

    def run(self, ops: Sequence[Instruction]) -> Work:
        """Carry out ``ops`` in order; over when the last row has left."""
        for op in ops:
            yield from self.unit.begin(op.label)
            if isinstance(op, Sync):
                yield from await_count(self.unit, self._counts, op.until, op.count, Reason.WORK)
            elif isinstance(op, WriteHostMemory):
                for number in range(op.rows):
                    yield from self._send(op, number)
        self.unit.instruction = ""
        if self._leaves and self._leaves[-1] > self._clock.cycle:
            yield self._clock.timeout(self._leaves[-1] - self._clock.cycle)

    def _send(self, op: WriteHostMemory, number: int) -> Work:
        yield from self._await_buffer()
        while not self._ram.may_read(self._clock.cycle):
            yield from self.unit.wait(self._clock.timeout(1), Reason.PORT)
        now = self._clock.cycle
        self._ram.use_for_reading(now)
        row = self._ram.row(op.row + number).copy()
        left = self._book_link(op)
        self._leaves.append(left)
        event = self._clock.timeout(left - now)
        event.callbacks.append(partial(self._leave, op, number, row))
        yield self._clock.timeout(1)
        self.unit.spend(BUSY)
        self.unit.act({Action.BUFFER_READ: self._topology.row_bytes})

    def _await_buffer(self) -> Work:
        now = self._clock.cycle
        self._leaves = [cycle for cycle in self._leaves if cycle > now]
        if len(self._leaves) >= BUFFERS:
            first = self._leaves.pop(0)
            yield from self.unit.wait(self._clock.timeout(first - now), Reason.FIFO, lambda: "a buffer for a row")

    def _book_link(self, op: WriteHostMemory) -> int:
        """Account for the link's cycles of the row that is read now; the cycle after its last."""
        begin = max(self._clock.cycle + 1, self.link.accounted_until)
        self.link.spend("idle", begin)
        self.link.instruction = op.label
        self.link.add(BUSY, self._topology.link_cycles, self._topology.row_bytes)
        return begin + self._topology.link_cycles

    def _leave(self, op: WriteHostMemory, number: int, row: Bytes, _: Event) -> None:
        self._host.take(op, number, row)
        self._counts.raise_by(Counter.DMA_OUT, 1, Waker(self.unit.track, op.label))
