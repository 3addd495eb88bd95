"""The instruction bus: from the controller past every tile, and the classifier, back to the controller."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Protocol

import simpy

from tilesim.sim.clock import Clock
from tilesim.sim.fifo import Fifo
from tilesim.sim.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.instructions import WORD_BYTES, Broadcast, Instruction, TileFence

Work = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class Delivery:
    """An instruction on the bus: the stops that still have to copy it, and the bus words that it takes.

    ``then``: the stops to which the one that it is for now, which starts its broadcast, sends it.
    """

    header: int
    op: Instruction
    words: int
    then: int = 0


class Station(Protocol):
    """What hangs on a stop: the buffers of a tile or of the classifier."""

    def buffer(self, op: Instruction) -> Fifo[Any]:
        """The buffer that ``op`` belongs into."""

    def deliver(self, op: Instruction) -> None:
        """``op`` has arrived; its place in the buffer was reserved."""

    def fence(self, op: TileFence) -> simpy.Event:
        """Obey a fence; the event is when it lets later instructions pass."""


def bus_words(op: Instruction, width_bytes: int) -> int:
    """Words of the bus that an instruction takes."""
    return ceil(op.words * WORD_BYTES / width_bytes)


class BusStop:
    """Copies the instructions that carry its bit into their buffers and passes on what others still need.

    Timing: an instruction of n words whose first word enters the bus at t is in the buffer of stop k (from 0) at
    t + (k + 1) * hop_cycles + n; peak rate one word a cycle. A full buffer, or a fence of this tile that is not
    through, stalls this stop and so everything behind it. A stop that starts a broadcast has the whole instruction
    before it sends the first word, so that it is n cycles later in the buffers of the stops behind. Source: US
    2025/0265455 [0030]-[0031], [0037]; US 19/025,090 [0059]; hop, width and that broadcasts start from a whole
    instruction are assumptions.
    """

    def __init__(self, clock: Clock, unit: Unit, bit: int, hop_cycles: int, station: Station) -> None:
        self.inbox: Fifo[Delivery] = Fifo(clock, hop_cycles + 1)
        self.following: BusStop | None = None
        self.unit = unit
        self._clock = clock
        self._mask = 1 << bit
        self._hop_cycles = hop_cycles
        self._station = station
        self._fence: simpy.Event | None = None
        clock.process(self._work())

    def _work(self) -> Work:
        while True:
            delivery: Delivery = yield from self.unit.wait(self.inbox.get(), Reason.INSTRUCTION)
            self.unit.instruction = delivery.op.label
            mine = delivery.header & self._mask
            starts = mine and delivery.then
            copies = starts & self._mask if starts else mine
            if mine:
                yield from self._admit(delivery, bool(copies))
            yield from self._forward(delivery)
            yield self._clock.timeout(delivery.words)
            self.unit.spend(BUSY, moved_bytes=delivery.op.words * WORD_BYTES)
            if copies:
                self._copy(delivery)
            if starts:
                yield from self._forward(Delivery(delivery.then, delivery.op, delivery.words))
                yield self._clock.timeout(delivery.words)
                self.unit.spend(BUSY)

    def _admit(self, delivery: Delivery, copies: bool) -> Work:
        """Wait until this tile's fence is through and the buffer has a place for an instruction that it copies."""
        if self._fence is not None and not self._fence.processed:
            yield from self.unit.wait(self._fence, Reason.FLAG, lambda: "a tile fence to let instructions pass")
        if copies and not isinstance(delivery.op, TileFence | Broadcast):
            room = self._station.buffer(delivery.op).room()
            yield from self.unit.wait(
                room, Reason.FIFO, lambda: f"a place in the instruction buffer of {delivery.op.mnemonic}"
            )

    def _forward(self, delivery: Delivery) -> Work:
        left = delivery.header & ~self._mask
        if left and self.following is not None:
            yield from send(self._clock, self.unit, self.following, replace(delivery, header=left), self._hop_cycles)

    def _copy(self, delivery: Delivery) -> None:
        if isinstance(delivery.op, TileFence):
            self._fence = self._station.fence(delivery.op)
        elif not isinstance(delivery.op, Broadcast):  # which only says what the controller does with the next one
            self._station.deliver(delivery.op)


def send(clock: Clock, unit: Unit, stop: BusStop, delivery: Delivery, hop_cycles: int) -> Work:
    """Wait for a place at ``stop``, then let the first word stand there ``hop_cycles`` later."""
    yield from unit.wait(stop.inbox.room(), Reason.CREDIT, lambda: "a place at the next stop of the instruction bus")
    clock.timeout(hop_cycles).callbacks.append(lambda _: stop.inbox.put(delivery))
