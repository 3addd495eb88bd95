"""The controller's outfeed: the ring's sink, on to the host."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from tilesim.sim.clock import Clock
from tilesim.sim.fifo import Fifo
from tilesim.sim.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.instructions import Outfeed
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.host import HostOutfeed
from tilesim.tiled.units.ring import Packet, RingStop

Work = Generator[simpy.Event, Any, None]


class OutfeedEngine:
    """Takes rows at the ring's sink and sends them to the host, one at a time.

    Timing: a row taken in cycle t is on the host's link from t + 1 on. Source: US 19/025,090 [0058].
    """

    def __init__(self, clock: Clock, unit: Unit, topology: Topology, host: HostOutfeed, stop: RingStop) -> None:
        self.buffer: Fifo[Outfeed] = Fifo(clock, topology.instruction_bus.buffer_depth)
        self.unit = unit
        self._clock = clock
        self._host = host
        self._stop = stop
        self._row: simpy.Event | None = None
        stop.receiver = self
        clock.process(self._work())

    def _work(self) -> Work:
        while True:
            self.unit.instruction = ""
            op: Outfeed = yield from self.unit.wait(self.buffer.get(), Reason.INSTRUCTION)
            self.unit.instruction = op.label
            for _ in range(op.rows):
                self._row = self._clock.event()
                self._stop.poke()
                packet: Packet = yield from self.unit.wait(self._row, Reason.FIFO, lambda: "a result row from the ring")
                yield self._clock.timeout(1)
                yield from self._host.receive(op.output, packet.row, op.label)
                self.unit.spend(BUSY, moved_bytes=packet.row.shape[1])

    def obstacle(self) -> str | None:
        return None if self._row is not None else "an outfeed to be posted"

    def take(self, packet: Packet) -> None:
        assert self._row is not None
        row, self._row = self._row, None
        row.succeed(packet)
