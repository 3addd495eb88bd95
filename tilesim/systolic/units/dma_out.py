"""DMA out: from the unified buffer to the host's memory."""

from __future__ import annotations

from collections.abc import Generator
from math import ceil
from typing import Any

import simpy

from tilesim.sim.core.action import Action
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Unit
from tilesim.systolic.isa.model.instructions import WriteHostMemory
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.data import Data
from tilesim.systolic.units.issue_queue import IssueQueue


class DmaOut:
    """Sends results to the host, one instruction after the other.

    Timing: that of DMA in, on the link's other way; an instruction retires when its last byte is at the host.
    """

    def __init__(
        self,
        clock: Clock,
        link: Unit,
        topology: Topology,
        issue_queue: IssueQueue[WriteHostMemory],
        data: Data,
    ) -> None:
        self._clock = clock
        self._link = link
        self._host = topology.host
        self._issue_queue = issue_queue
        self._data = data

    def work(self) -> Generator[simpy.Event, Any, None]:
        unit, link = self._issue_queue.unit, self._link
        while True:
            op = yield from self._issue_queue.next()
            yield from self._issue_queue.begin(op)
            write = self._data.send(op)
            link.spend("idle")
            link.instruction = op.label
            yield self._clock.timeout(ceil(op.bytes / self._host.bytes_per_cycle))
            unit.spend(BUSY)
            link.spend(BUSY, moved_bytes=op.bytes)
            unit.act({Action.BUFFER_READ: op.bytes})
            there = self._clock.cycle + self._host.latency_cycles
            self._issue_queue.retire(op, there, write)
