"""The controller's infeed: the ring's first master."""

from __future__ import annotations

from collections.abc import Generator
from math import ceil
from typing import Any

import simpy

from tilesim.sim.clock import Clock
from tilesim.sim.fifo import Fifo
from tilesim.sim.memory import Bytes, Memory
from tilesim.sim.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.instructions import Infeed
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.host import HostInfeed
from tilesim.tiled.units.ring import Packet, RingStop

Work = Generator[simpy.Event, Any, None]


class InfeedEngine:
    """Puts rows of the host or of data memory on the ring, one instruction after the other.

    Timing: a row of r bytes from data memory takes ceil(r / bytes_per_cycle) cycles to read and one to enter the
    ring; a row from the host one cycle once it has arrived. Source: US 19/025,090 [0058]; US 2025/0265455 [0038]; the
    data memory's bandwidth is an assumption.
    """

    def __init__(
        self, clock: Clock, unit: Unit, topology: Topology, data_memory: Memory, host: HostInfeed, stop: RingStop
    ) -> None:
        self.buffer: Fifo[Infeed] = Fifo(clock, topology.instruction_bus.buffer_depth)
        self.unit = unit
        self._clock = clock
        self._row_bytes = topology.wide_memory.row_bytes
        self._read_cycles = ceil(self._row_bytes / topology.data_memory.bytes_per_cycle)
        self._data_memory = data_memory
        self._host = host
        self._stop = stop
        clock.process(self._work())

    def _work(self) -> Work:
        while True:
            self.unit.instruction = ""
            op: Infeed = yield from self.unit.wait(self.buffer.get(), Reason.INSTRUCTION)
            self.unit.instruction = op.label
            for row in range(op.total_rows):
                data = yield from (self._from_host() if op.source == "host" else self._from_memory(op, row))
                transfer, place = divmod(row, op.rows)
                sent = self._stop.send(Packet(op.to << transfer, data, place == op.rows - 1, op.label))
                yield from self.unit.wait(sent, Reason.CREDIT, lambda: "the ring to take its packet")
                yield self._clock.timeout(1)
                self.unit.spend(BUSY, moved_bytes=self._row_bytes)

    def _from_host(self) -> Generator[simpy.Event, Any, Bytes]:
        row: Bytes = yield from self.unit.wait(self._host.rows.get(), Reason.HOST, lambda: "activations from the host")
        return row

    def _from_memory(self, op: Infeed, row: int) -> Generator[simpy.Event, Any, Bytes]:
        start = op.address + row * self._row_bytes
        self._data_memory.check(start, start + self._row_bytes)
        yield self._clock.timeout(self._read_cycles)
        self.unit.spend(BUSY)
        return self._data_memory.bytes[:, start : start + self._row_bytes]
