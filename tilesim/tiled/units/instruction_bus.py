"""The instruction bus: from the controller past every tile, and the classifier, back to the controller."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

import simpy

from tilesim.sim.clock import Clock
from tilesim.sim.fifo import Fifo
from tilesim.sim.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.instructions import WORD_BYTES, Classify, Instruction, TileFence

Work = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class Delivery:
    """An instruction on the bus: the stops that still have to copy it, and the bus words that it takes."""

    header: int
    op: Instruction
    words: int


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
    through, stalls this stop and so everything behind it. Source: US 2025/0265455 [0030]-[0031]; US 19/025,090
    [0059]; hop and width are assumptions.
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
            if mine:
                yield from self._admit(delivery)
            yield from self._forward(delivery)
            yield self._clock.timeout(delivery.words)
            self.unit.spend(BUSY, moved_bytes=delivery.op.words * WORD_BYTES)
            if mine:
                self._copy(delivery)

    def _admit(self, delivery: Delivery) -> Work:
        """Wait until this tile's fence is through and the instruction's buffer has a place."""
        if self._fence is not None and not self._fence.processed:
            yield from self.unit.wait(self._fence, Reason.FLAG, lambda: "a tile fence to let instructions pass")
        if not isinstance(delivery.op, TileFence):
            room = self._station.buffer(delivery.op).room()
            yield from self.unit.wait(
                room, Reason.FIFO, lambda: f"a place in the instruction buffer of {delivery.op.mnemonic}"
            )

    def _forward(self, delivery: Delivery) -> Work:
        left = delivery.header & ~self._mask
        if left and self.following is not None:
            yield from send(
                self._clock, self.unit, self.following, Delivery(left, delivery.op, delivery.words), self._hop_cycles
            )

    def _copy(self, delivery: Delivery) -> None:
        if isinstance(delivery.op, TileFence):
            self._fence = self._station.fence(delivery.op)
        else:
            self._station.deliver(delivery.op)


def send(clock: Clock, unit: Unit, stop: BusStop, delivery: Delivery, hop_cycles: int) -> Work:
    """Wait for a place at ``stop``, then let the first word stand there ``hop_cycles`` later."""
    yield from unit.wait(stop.inbox.room(), Reason.CREDIT, lambda: "a place at the next stop of the instruction bus")
    clock.timeout(hop_cycles).callbacks.append(lambda _: stop.inbox.put(delivery))


def header_of(op: Instruction, tiles: int) -> int:
    """The stops that an instruction is for: its tiles, or the classifier behind the last tile."""
    return 1 << tiles if isinstance(op, Classify) else getattr(op, "tiles", 0)
