"""A tile's ring producer: reads wide rows and multicasts them."""

from __future__ import annotations

from typing import Any

from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import RingProduce
from tilesim.tiled.stepped.core import BUSY, CREDIT, FLAG, PORT, Fifo, UnitAccount
from tilesim.tiled.stepped.engine import Engine, Rounds, TileContext
from tilesim.tiled.stepped.ring import Packet, RingStop, SentTransfer
from tilesim.tiled.stepped.ttu import Iteration

ORDINALS = (Flag.RING_PRODUCER_A, Flag.RING_PRODUCER_B)
"""Count the transfers of each channel that have passed the tile's stop."""


class RingProducer(Engine):
    """Reads a row, where only ring commits go before it, then puts it on the ring.

    Timing: a row that is read in t enters the link in t + 1 at the earliest; the next one is read in the cycle after
    its last part has, so that R rows of k parts take (1 + k) * R cycles.
    """

    op: RingProduce

    def __init__(self, tile: TileContext, account: UnitAccount, buffer: Fifo[Any], stops: list[RingStop]) -> None:
        super().__init__(tile, account, Flag.RING_WRITE, buffer)
        self._stops = stops

    def begin(self, op: RingProduce) -> None:
        self._transfer = SentTransfer(op.label)
        self._packet: Packet | None = None
        self._stop = self._stops[op.channel == "b"]
        self._rounds = Rounds(op.read.nest, op)
        self.gate(self._rounds.next())

    def proceed(self) -> None:
        self._reads = False
        if self._packet is not None and self._parts == self._stop.parts:
            self._stop.outgoing = self._packet

    def claim(self) -> None:
        """The rows of the ring are in, nobody else has asked for the wide port yet."""
        if self.op is None or not self.begun or self._packet is not None:
            return
        self.kind = PORT if self.passes_gates() else FLAG
        self._reads = self.kind == PORT and self.memories.wide_port.take()
        if self._reads:
            assert self._rounds.step is not None
            self._row = self.memories.wide.read(
                self._rounds.step.address(self.op.read.reference), self.memories.row_bytes
            )

    def advance(self) -> str:
        if self._packet is None:
            return self._advance_read() if self._reads else self.kind
        if self._stop.outgoing is not None:
            return CREDIT
        self.clock.stir()
        self._parts -= 1
        if not self._parts:
            self._packet = None
            self.raise_flag(self._rounds.raises(self._sent))
        return BUSY

    def _advance_read(self) -> str:
        assert self._rounds.step is not None
        self._sent: Iteration = self._rounds.step
        self.gate(self._rounds.next())
        self._packet = Packet(self.op.to, self._row, self._rounds.step is None, self._transfer)
        self._parts = self._stop.parts
        self.clock.stir()
        return BUSY

    def through(self) -> bool:
        return self._packet is None and self._rounds.step is None
