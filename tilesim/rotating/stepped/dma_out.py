"""Sends rows of the data RAM to the host."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from tilesim.rotating.isa.model.instructions import Counter, Instruction, Sync, WriteHostMemory
from tilesim.rotating.stepped.core import BUSY, FIFO, PORT, WORK, Account, Counters
from tilesim.rotating.stepped.host import HostMemory, Link
from tilesim.rotating.stepped.memory import Bytes, Ram

ROW_BUFFERS = 2


@dataclass(frozen=True)
class Departure:
    """A row that was read, of those that ``op`` sends."""

    op: WriteHostMemory
    k: int
    data: Bytes


class DmaOut:
    """Reads a row in one cycle, and sends it from the next one on, once the link is free.

    Timing: of two row buffers, one is taken from the read to the last cycle on the link. A sync is looked at in the
    cycle after the last read before it.
    """

    def __init__(
        self, instructions: list[Instruction], ram: Ram, host: HostMemory, link: Link, counters: Counters
    ) -> None:
        self.account = Account("nnu.dma_out")
        self.last_sent = -1
        self._queue = list(instructions)
        self._ram, self._host, self._link, self._counters = ram, host, link, counters
        self._row = 0
        self._held: deque[Departure] = deque()
        self._sent: Departure | None = None

    @property
    def done(self) -> bool:
        return not self._queue and not self._held

    @property
    def is_moving(self) -> bool:
        return bool(self._held)

    def act(self, cycle: int) -> None:
        self._send(cycle)
        while self._queue and isinstance(op := self._queue[0], Sync) and self._counters.met(op):
            self._queue.pop(0)
        if self._queue:
            self.account.note(cycle, self._read(self._queue[0]), self._queue[0].label)
            self._pass_read()

    def commit(self) -> None:
        """The cycle ends."""
        if self._sent is not None:
            self._host.keep(self._sent.op, self._sent.k, self._sent.data)
            self._held.popleft()
            self._sent = None

    def _send(self, cycle: int) -> None:
        """What the link does in this cycle, with the oldest row that was there when it began."""
        if not self._held:
            return
        if self._link.is_free:
            self._link.begin()
        if self._link.carry(cycle, self._held[0].op.label):
            self._sent = self._held[0]
            self._counters.happen(Counter.DMA_OUT)
            self.last_sent = cycle

    def _read(self, op: Instruction) -> str:
        """Read the next row of ``op``, if that can be, and say what kind of cycle this is."""
        if not isinstance(op, WriteHostMemory):
            return WORK
        if len(self._held) == ROW_BUFFERS:
            return FIFO
        if not self._ram.can_read:
            return PORT
        self._held.append(Departure(op, self._row, self._ram.read(op.row + self._row)))
        self._row += 1
        return BUSY

    def _pass_read(self) -> None:
        """Go on to the next instruction behind the last row of one."""
        op = self._queue[0]
        if isinstance(op, WriteHostMemory) and self._row == op.rows:
            self._queue.pop(0)
            self._row = 0
