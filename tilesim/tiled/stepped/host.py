"""The host interface: activation rows in, result rows out, each way with its own bandwidth and a latency."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from tilesim.tiled.isa.model.instructions import Infeed, Instruction
from tilesim.tiled.isa.model.program import DataSegment
from tilesim.tiled.stepped.core import BUSY, FIFO, IDLE, Clock, Fifo, Thread, UnitAccount
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.topology import Topology

QUEUED_ROWS = 8
"""Rows that may wait at the controller beside those in data memory and on their way."""


def row_cycles(topology: Topology) -> int:
    """Cycles that a row occupies the host's link."""
    return ceil(topology.wide_memory.row_bytes / topology.host.bytes_per_cycle)


class HostInfeed(Thread):
    """Sends rows one after the other, each once there is a place for it in the queue at the controller.

    Timing: a row that is sent from cycle t on is there at t + ceil(row bytes / bytes_per_cycle) + latency_cycles.
    """

    def __init__(self, clock: Clock, account: UnitAccount, topology: Topology, data: tuple[DataSegment, ...]) -> None:
        self._topology = topology
        self._rows: list[tuple[str, Bytes]] = []
        parameter_bytes = max((segment.address + segment.data.size for segment in data), default=0)
        spare_bytes = topology.data_memory.size_bytes - parameter_bytes
        depth = QUEUED_ROWS + topology.host.latency_cycles // row_cycles(topology)
        self.queue: Fifo[Bytes] = Fifo(clock, depth + spare_bytes // topology.wide_memory.row_bytes)
        super().__init__(clock, account)

    def start(self, rows: list[Bytes], instructions: tuple[Instruction, ...]) -> None:
        """Send ``rows``; those of ``instructions`` that take them only name them."""
        takers = [
            op.label
            for op in instructions
            if isinstance(op, Infeed) and op.source == "host"
            for _ in range(op.total_rows)
        ]
        self._rows = [(takers[k] if k < len(takers) else "", row) for k, row in enumerate(rows)]

    def life(self) -> Iterator[str]:
        while True:
            self.label = ""
            while not self._rows:
                yield IDLE
            self.label, row = self._rows.pop(0)
            while not self.queue.room():
                yield FIFO
            self.queue.reserve()
            for _ in range(row_cycles(self._topology)):
                yield BUSY
            self.queue.put(row, self._topology.host.latency_cycles)


class HostOutfeed:
    """Takes the rows of results that the controller's outfeed sends, and keeps their account.

    Timing: a row is at the host latency_cycles after it has left the link.
    """

    def __init__(self, clock: Clock, account: UnitAccount, topology: Topology) -> None:
        self.received: dict[int, list[Bytes]] = {}
        self.last_arrival = 0
        self._clock = clock
        self._account = account
        self._latency_cycles = topology.host.latency_cycles

    def carry(self, label: str) -> None:
        """The link is occupied in this cycle."""
        self._account.note(self._clock.cycle, BUSY, label)
        self._account.note(self._clock.cycle + 1, IDLE)

    def receive(self, output: int, row: Bytes) -> None:
        """A row has left the link by now."""
        self.received.setdefault(output, []).append(row)
        self.last_arrival = max(self.last_arrival, self._clock.cycle + self._latency_cycles)
