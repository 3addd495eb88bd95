"""The instruction bus: from the controller past every tile, and the classifier."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tilesim.tiled.isa.model.instructions import WORD_BYTES, Broadcast, Instruction, Record, TileFence
from tilesim.tiled.stepped.classifier import ClassifierTile
from tilesim.tiled.stepped.core import BUSY, CREDIT, FIFO, FLAG, IDLE, Clock, Fifo, Thread, UnitAccount
from tilesim.tiled.stepped.tile import Tile
from tilesim.tiled.topology import InstructionBus


class Delivery(Struct, frozen=True):
    """An instruction on the bus, the stops that it is still for, and ``then`` those to which the one that it is for now
    sends it.
    """

    header: int
    op: Instruction
    words: int
    then: int = 0


Station: TypeAlias = Tile | ClassifierTile
"""What hangs on a stop."""


def bus_words(instruction_words: int, width_bytes: int) -> int:
    """Words of the bus that so many words of an instruction take."""
    return ceil(instruction_words * WORD_BYTES / width_bytes)


class BusStop(Thread):
    """Copies what carries its bit into the buffers of its station, and passes on what others still need.

    Timing: an instruction of n words whose first word enters the bus at t is in the buffer of stop k (from 0) at
    t + (k + 1) * hop_cycles + n. A full buffer, or a fence that is not through, stalls what is for this stop, and all
    behind it. A fence is looked at from the cycle on in which it has arrived. A stop that starts a broadcast sends the
    first word when it has the last one. A record's header is obeyed in passing; what it announces comes behind it.
    """

    following: BusStop | None = None

    def __init__(self, clock: Clock, account: UnitAccount, bit: int, bus: InstructionBus, station: Station) -> None:
        self.inbox: Fifo[Delivery] = Fifo(clock, bus.hop_cycles + 1)
        self._mask = 1 << bit
        self._bus = bus
        self._station = station
        self._fence: TileFence | None = None
        super().__init__(clock, account)

    def request(self) -> None:
        super().request()
        self._look_at_fence()

    def life(self) -> Iterator[str]:
        while True:
            while self.inbox.head() is None:
                yield IDLE
            delivery = self.inbox.take()
            self.label = delivery.op.label
            mine = delivery.header & self._mask
            copies = mine and (not delivery.then or delivery.then & self._mask)
            if mine:
                yield from self._admit(delivery.op, bool(copies))
            yield from self._forward(delivery)
            for _ in range(delivery.words):
                yield BUSY
            if copies:
                self._copy(delivery.op)
            if mine and delivery.then:
                yield from self._forward(replace(delivery, header=delivery.then, then=0))
                for _ in range(delivery.words):
                    yield BUSY

    def _admit(self, op: Instruction, copies: bool) -> Iterator[str]:
        """Wait for the fence, and for a place for an instruction that is copied."""
        while not self._look_at_fence():
            yield FLAG
        if not copies or isinstance(op, TileFence | Broadcast | Record):
            return
        buffer = self._station.buffer_of(op)
        while not buffer.room():
            yield FIFO
        buffer.reserve()

    def _forward(self, delivery: Delivery) -> Iterator[str]:
        left = delivery.header & ~self._mask
        if left and self.following is not None:
            yield from send(self.following, replace(delivery, header=left), self._bus.hop_cycles)

    def _copy(self, op: Instruction) -> None:
        if isinstance(op, TileFence):
            self._fence = op
        elif not isinstance(op, Broadcast | Record):
            self._station.deliver(op, 0)

    def _look_at_fence(self) -> bool:
        """Whether no fence holds what follows."""
        if self._fence is not None and self._station.fence_is_through(self._fence):
            self._station.obey(self._fence)
            self._fence = None
        return self._fence is None


def send(stop: BusStop, delivery: Delivery, hop_cycles: int) -> Iterator[str]:
    """Wait for a place at ``stop``; the first word enters the bus in the cycle in which there is one."""
    while not stop.inbox.room():
        yield CREDIT
    stop.inbox.reserve()
    stop.inbox.put(delivery, hop_cycles)
