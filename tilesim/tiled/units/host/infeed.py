"""The controller's infeed: the ring's first master, which may also forward what reaches the ring's end."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import partial
from math import ceil
from typing import Any

import simpy

from tilesim.sim.core.action import Action
from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.memory import Bytes, Memory
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.model.fields import ON_B, Channel
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.host.host import HostInfeed
from tilesim.tiled.units.host.sendings import takes_from_host
from tilesim.tiled.units.ring.ring import Packet, RingStop
from tilesim.tiled.units.ring.ring_monitor import SentTransfer

FORWARDED_ROWS = 2
"""Rows from the ring's sink that may wait for the infeed: enough for one a cycle. Assumption."""
TAILS = {Channel.A: "tails", Channel.B: "tails_b"}
"""What counts the transfers of a channel that have passed the infeed's stop."""


class InfeedEngine:
    """Puts rows of the host, of data memory or from the ring's sink on the ring, one instruction after the other. Rows
    of a data memory that is the host's come as all that the host sends.

    Timing: a row of r bytes from data memory takes ceil(r / bytes_per_cycle) cycles to read and the k = ceil(r /
    ring.width_bytes) of a link to enter the ring; a row from the host, or forwarded, those k cycles once it has
    arrived: a row of which the sink takes the last part in t can leave from t + 1 on, and rows follow one another every
    k cycles. A tail of which the last part passes the infeed's stop in t is counted at t + 1. Source: US 19/025,090
    [0058]; US 2025/0265455 [0038]; the data memory's bandwidth is an assumption, and so is that the infeed takes turns
    as the tiles do.
    """

    def __init__(
        self,
        clock: Clock,
        unit: Unit,
        topology: Topology,
        data_memory: Memory,
        host: HostInfeed,
        stops: Mapping[Channel, RingStop],
    ) -> None:
        self.buffer: Fifo[Infeed] = Fifo(clock, topology.instruction_bus.buffer_depth)
        self.forwarded: Fifo[Bytes] = Fifo(clock, FORWARDED_ROWS)
        self.unit = unit
        self._clock = clock
        self._row_bytes = topology.wide_memory.row_bytes
        self._read_cycles = ceil(self._row_bytes / topology.data_memory.bytes_per_cycle)
        self._data_memory = data_memory
        self._host = host
        self._from_host = partial(takes_from_host, topology=topology)
        self._stops = stops
        self.passed = FlagFile(clock)
        for channel, stop in stops.items():
            stop.on_tail = partial(self.passed.raise_by, TAILS[channel])
        clock.process(self._work())

    def restart(self) -> None:
        """A program begins."""
        for channel in self._stops:
            self.passed.reset(TAILS[channel])

    def _work(self) -> Work:
        while True:
            self.unit.instruction = ""
            op: Infeed = yield from self.unit.wait(self.buffer.get(), Reason.INSTRUCTION)
            yield from self.unit.begin(op.label)
            if op.turn:
                turn = self.passed.reached(TAILS[op.channel], op.turn)
                yield from self.unit.wait(turn, Reason.FLAG, partial(self._describe, op))
            yield from self._send(op, self._stops[op.channel])
            stored = op.source == "data" and not self._from_host(op)
            self.unit.act({Action.DATA_MEMORY_READ: op.total_rows} if stored else {})

    def _send(self, op: Infeed, stop: RingStop) -> Work:
        transfers = [SentTransfer(op.label, k, stop.node, op.to << k) for k in range(op.transfers)]
        for row in range(op.total_rows):
            data = yield from self._row(op, row)
            transfer, place = transfers[row // op.rows], row % op.rows
            packet = Packet(transfer.to, data, place == op.rows - 1, op.label, transfer, place, self.unit.instant)
            yield from stop.transmit(self.unit, packet)

    def _describe(self, op: Infeed) -> str:
        on_b = ON_B if op.channel is Channel.B else ""
        passed = self.passed.count(TAILS[op.channel])
        return f"the tails of {op.turn} transfers to pass the infeed's ring stop{on_b}; so far {passed} have"

    def _row(self, op: Infeed, row: int) -> Generator[simpy.Event, Any, Bytes]:
        if op.source == "data" and not self._from_host(op):
            start = op.address + row * self._row_bytes
            self._data_memory.check(start, start + self._row_bytes)
            if not self.unit.instant:
                yield self._clock.timeout(self._read_cycles)
            self.unit.spend(BUSY)
            return self._data_memory.bytes[:, start : start + self._row_bytes]
        what = "activations from the host" if op.source == "host" else "parameters from the host"
        queue, reason, what = (
            (self._host.rows, Reason.HOST, what)
            if self._from_host(op)
            else (self.forwarded, Reason.FIFO, "a row to forward")
        )
        data: Bytes = yield from self.unit.wait(queue.get(), reason, lambda: what)
        return data
