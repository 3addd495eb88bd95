"""DMA: from the host's memory to the unified buffer and to weight memory, and from the buffer back."""

from __future__ import annotations

from collections.abc import Generator
from math import ceil
from typing import Any

import simpy

from tilesim.sim.core.action import Action, Actions
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Unit
from tilesim.systolic.isa.model.instructions import ReadHostMemory, WriteHostMemory
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.data import Data
from tilesim.systolic.units.issue_queue import IssueQueue


class DmaEngine:
    """Brings what the host holds, or sends it results: one way of its link, one instruction after the other.

    Timing: an instruction of n bytes that begins at t has the host's link up to t + ceil(n / bytes_per_cycle), where
    the next may begin; the bytes are there, and it retires, ``latency_cycles`` after that. It is busy as long as the
    link is. Source: WO 2016/186801, Fig. 2, for the host interface and the DMA engine; rate and latency of the link are
    assumptions.
    """

    def __init__(self, clock: Clock, link: Unit, topology: Topology, issue_queue: IssueQueue[Any], data: Data) -> None:
        self._clock = clock
        self._link = link
        self._host = topology.host
        self._issue_queue = issue_queue
        self._data = data

    def work(self) -> Generator[simpy.Event, Any, None]:
        unit, link = self._issue_queue.unit, self._link
        while True:
            op: ReadHostMemory | WriteHostMemory = yield from self._issue_queue.next()
            yield from self._issue_queue.begin(op)
            write = self._data.bring(op) if isinstance(op, ReadHostMemory) else self._data.send(op)
            link.spend("idle")
            link.instruction = op.label
            if not unit.instant:
                yield self._clock.timeout(ceil(op.bytes / self._host.bytes_per_cycle))
            unit.spend(BUSY)
            link.spend(BUSY, moved_bytes=op.bytes)
            unit.act(_actions(op))
            latency_cycles = 0 if unit.instant else self._host.latency_cycles
            self._issue_queue.retire(op, self._clock.cycle + latency_cycles, write)


def _actions(op: ReadHostMemory | WriteHostMemory) -> Actions:
    """What ``op`` costs on the chip, beside its transfer; the weight fetcher counts accesses to weight memory."""
    if isinstance(op, WriteHostMemory):
        return {Action.BUFFER_READ: op.bytes}
    return {Action.BUFFER_WRITE: op.bytes} if op.destination == "unified_buffer" else {}
