"""The classifier tile: applies a function to the outputs of the last fully connected layer."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from tilesim.arithmetic import classify
from tilesim.sim.core.clock import Clock, Handover, Work
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.memory import Bytes, joined
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.model.instructions import Classify, Instruction, TileFence
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.classification import PER_COMPARISON, PER_ELEMENT, classified
from tilesim.tiled.units.ring.ring import Packet, RingStop
from tilesim.tiled.units.ring.ring_monitor import SentTransfer


class ClassifierTile:
    """Collects rows from the ring, applies its function to the elements in them, and sends rows to the sink.

    Timing: elements * passes * cycles_per_element cycles after the last row has come, wherever in the rows they are,
    then a row of results as fast as the ring takes them. The k largest take k passes, each of which looks for the next;
    all else takes one. Source: US 19/025,090 [0057], of which softmax is the example; the rate, the other functions and
    their passes are assumptions.
    """

    def __init__(self, clock: Clock, unit: Unit, topology: Topology, stop: RingStop) -> None:
        self.buffer: Fifo[Classify] = Fifo(clock, topology.instruction_bus.buffer_depth)
        self.unit = unit
        self._clock = clock
        self._cycles_per_element = topology.classifier.cycles_per_element
        self._row_bytes = topology.wide_memory.row_bytes
        self._sink = 1 << (topology.tiles + 1)
        self._stop = stop
        self._row: Handover | None = None
        stop.receiver = self
        clock.process(self._work())

    def buffer_of(self, _op: Instruction) -> Fifo[Classify]:
        return self.buffer

    def deliver(self, op: Instruction) -> None:
        assert isinstance(op, Classify)
        self.buffer.put(op)

    def fence(self, op: TileFence) -> simpy.Event:
        raise AssertionError(f"{op.label} is for tiles, not for the classifier")

    def _work(self) -> Work:
        while True:
            self.unit.instruction = ""
            op: Classify = yield from self.unit.wait(self.buffer.get(), Reason.INSTRUCTION)
            yield from self.unit.begin(op.label)
            rows = yield from self._collect(op)
            looks = op.elements * classify.passes(op.function, op.scaling)
            yield self._clock.timeout(looks * self._cycles_per_element)
            self.unit.spend(BUSY)
            yield from self._reply(op, classified(op, rows))
            self.unit.act(dict.fromkeys(PER_ELEMENT if op.function in classify.SOFTMAXES else PER_COMPARISON, looks))
            self._stop.poke()  # a row that waited for its end may go past now

    def _collect(self, op: Classify) -> Generator[simpy.Event, Any, Bytes]:
        """The rows that are to come, (samples, rows, row bytes), in the cycle after the last one has been taken."""
        rows: list[Bytes] = []
        for _ in range(op.rows):
            self._row = Handover(self._clock)
            self._stop.poke()
            row: Bytes = yield from self.unit.wait_on(self._row, Reason.FIFO, "a row of linear outputs")
            self.unit.spend(BUSY)
            rows.append(row[:, None])
        return joined(rows)

    def _reply(self, op: Classify, data: Bytes) -> Work:
        rows = data.shape[1] // self._row_bytes
        transfer = SentTransfer(op.label, 0, self._stop.node, self._sink)
        for k in range(rows):
            row = data[:, k * self._row_bytes : (k + 1) * self._row_bytes]
            yield from self._stop.transmit(self.unit, Packet(self._sink, row, k == rows - 1, op.label, transfer, k))

    def obstacle(self) -> str | None:
        return None if self._row is not None else "the classifier to be posted"

    def take(self, packet: Packet) -> None:
        assert self._row is not None
        self.unit.waited()
        self._row.begin(packet.row, self._stop.row_cycles)
        self._row = None
