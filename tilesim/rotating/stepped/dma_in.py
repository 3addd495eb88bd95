"""Brings rows of the host into the RAMs."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.rotating.isa.model.instructions import Counter, Instruction, Ram, ReadHostMemory, Sync
from tilesim.rotating.stepped import memory
from tilesim.rotating.stepped.core import BUSY, HOST, WORK, Account, Counters
from tilesim.rotating.stepped.host import HostMemory, Link
from tilesim.rotating.stepped.memory import Bytes


@dataclass(frozen=True)
class Arrival:
    """A row on its way to where it is to be written."""

    op: ReadHostMemory
    k: int
    data: Bytes


class DmaIn:
    """Writes each row in the cycle after its last one on the link; nobody goes before it at the ports.

    Timing: the link takes the next row as soon as it is free; there a sync is looked at that stands between them.
    """

    def __init__(
        self,
        instructions: list[Instruction],
        rams: dict[Ram, memory.Ram],
        host: HostMemory,
        link: Link,
        counters: Counters,
    ) -> None:
        self.account = Account("nnu.dma_in")
        self.last_write = -1
        self._queue = list(instructions)
        self._rams, self._host, self._link, self._counters = rams, host, link, counters
        self._row = 0
        self._crossing: Arrival | None = None
        self._crossed: Arrival | None = None

    @property
    def done(self) -> bool:
        return not self._queue and not self.is_moving

    @property
    def is_moving(self) -> bool:
        return self._crossing is not None or self._crossed is not None

    def act(self, cycle: int) -> None:
        arrival, self._crossed = self._crossed, None
        if arrival is not None:
            self._rams[arrival.op.ram].write(arrival.op.row + arrival.k, arrival.data)
            self._counters.happen(Counter.DMA_IN)
            self.last_write = cycle
            self.account.note(cycle, BUSY, arrival.op.label)
        if self._crossing is None:
            self._next()
        if self._crossing is not None:
            if arrival is None:
                self.account.note(cycle, HOST, self._crossing.op.label)
            self._carry(cycle, self._crossing)
        elif self._queue and arrival is None:
            self.account.note(cycle, WORK, self._queue[0].label)

    def _next(self) -> None:
        """The link is free: pass what is over and syncs that are met, and begin the next row, if there is one."""
        while self._queue and isinstance(op := self._queue[0], Sync) and self._counters.met(op):
            self._queue.pop(0)
        if self._queue and isinstance(op := self._queue[0], ReadHostMemory):
            self._crossing = Arrival(op, self._row, self._host.row(op, self._row))
            self._link.begin()
            self._row += 1
            if self._row == op.rows:
                self._queue.pop(0)
                self._row = 0

    def _carry(self, cycle: int, arrival: Arrival) -> None:
        if self._link.carry(cycle, arrival.op.label):
            self._crossing, self._crossed = None, arrival
