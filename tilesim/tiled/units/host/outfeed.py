"""The controller's outfeed: the ring's sink, on to the host or back to the infeed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy

from tilesim.sim.core.clock import Clock, Handover, Work
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.memory import Bytes
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.model.instructions import Infeed, Outfeed
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.host.host import HostOutfeed
from tilesim.tiled.units.ring.ring import Packet, RingStop


class OutfeedEngine:
    """Takes rows at the ring's sink and sends them to the host, or to the infeed that forwards them, one at a time.

    Timing: a row of which the last part is taken in cycle t is on the host's link, or at the infeed, from t + 1 on; if
    the infeed has no place for it, no other one is taken meanwhile. Source: US 19/025,090 [0058]; US 2025/0265455
    [0034].
    """

    def __init__(
        self,
        clock: Clock,
        unit: Unit,
        topology: Topology,
        host: HostOutfeed,
        stop: RingStop,
        forwarded: Fifo[Bytes],
        through: Callable[[], None],
    ) -> None:
        self.buffer: Fifo[Outfeed | Infeed] = Fifo(clock, topology.instruction_bus.buffer_depth)
        self.unit = unit
        self._clock = clock
        self._host = host
        self._stop = stop
        self._forwarded = forwarded
        self._through = through
        self._row: Handover | None = None
        stop.receiver = self
        clock.process(self._work())

    def _work(self) -> Work:
        while True:
            self.unit.instruction = ""
            op: Outfeed | Infeed = yield from self.unit.wait(self.buffer.get(), Reason.INSTRUCTION)
            yield from self.unit.begin(op.label)
            for _ in range(op.rows if isinstance(op, Outfeed) else op.total_rows):
                row = yield from self._take()
                if isinstance(op, Outfeed):
                    yield from self._host.receive(op.output, row, op.label, self.unit.instant)
                else:
                    self.unit.spend(BUSY)
                    yield from self._forward(row)
                self.unit.spend(BUSY, moved_bytes=row.shape[1])
            self._stop.poke()  # a row that waited for its end may go past now
            self._through()

    def _take(self) -> Generator[simpy.Event, Any, Bytes]:
        """The next row, in the cycle after it has been taken."""
        self._row = Handover(self._clock)
        self._stop.poke()
        row: Bytes = yield from self.unit.wait_on(self._row, Reason.FIFO, "a result row from the ring")
        return row

    def _forward(self, row: Bytes) -> Work:
        room = self._forwarded.room()
        yield from self.unit.wait(room, Reason.FIFO, lambda: "the infeed to take a row that it forwards")
        self._forwarded.put(row)

    def obstacle(self) -> str | None:
        return None if self._row is not None else "an outfeed to be posted"

    def take(self, packet: Packet) -> None:
        assert self._row is not None
        self.unit.waited()
        self._row.begin(packet.row, 0 if packet.instant else self._stop.row_cycles)
        self._row = None
