"""The host interface: activation rows in, result rows out, each way with its own bandwidth and a latency."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import repeat
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.memory import Bytes, joined
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.model.instructions import Infeed, Instruction
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.ring.announcement import Unforeseen

QUEUED_ROWS = 8
"""Rows that may wait at the controller for an infeed beside those in data memory and on their way. Assumption."""


class HostInfeed:
    """Sends rows of activations, in the order in which the host's driver queued them, from the first cycle of the run
    on; rows of later inferences wait at the controller until their time has come.

    Timing: row k of r bytes is at the controller at (k + 1) * ceil(r / bytes_per_cycle) + latency_cycles, if there is
    a place in the queue, which is as long as data memory has room beside parameters. Source: US 19/025,090 [0058];
    bandwidth, latency and queue are assumptions, and so is that passing through data memory takes no time.
    """

    def __init__(self, clock: Clock, unit: Unit, topology: Topology) -> None:
        row_cycles = ceil(topology.wide_memory.row_bytes / topology.host.bytes_per_cycle)
        self.rows: Fifo[Bytes] = Fifo(clock, QUEUED_ROWS + topology.host.latency_cycles // row_cycles)
        self.unit = unit
        self._memory_bytes = topology.data_memory.size_bytes
        self._row_bytes = topology.wide_memory.row_bytes
        self._clock = clock
        self._latency_cycles = topology.host.latency_cycles
        self._bytes_per_cycle = topology.host.bytes_per_cycle
        self._foreseen: deque[tuple[int, Bytes]] | None = None

    @property
    def foreseen(self) -> bool:
        """Whether there is a place for every row, so that it is known when each comes."""
        return self._foreseen is not None

    def share(self, parameter_bytes: int) -> None:
        """Leave the first bytes of data memory to parameters, and queue rows in the others."""
        self.rows.depth += (self._memory_bytes - parameter_bytes) // self._row_bytes

    def start(self, rows: list[Bytes], instructions: Iterable[Instruction] = (), foresee: bool = False) -> None:
        """Send ``rows`` for the infeeds among ``instructions``. With ``foresee``, and a place for all of them, they are
        to be had from :meth:`take`.
        """
        self._foreseen = None
        if foresee and len(rows) <= self.rows.depth:
            self._foreseen = deque(self._foresee(rows, _takers(instructions)))
        else:
            self._clock.process(self._work(rows, _takers(instructions)))

    def take(self, count: int) -> tuple[NDArray[np.int64], Bytes]:
        """When each of the next rows is at the controller, and the rows, (samples, rows, row bytes)."""
        assert self._foreseen is not None
        if count > len(self._foreseen):
            raise Unforeseen
        taken = [self._foreseen.popleft() for _ in range(count)]
        return np.array([cycle for cycle, _ in taken]), np.stack([row for _, row in taken], axis=1)

    def _foresee(self, rows: list[Bytes], labels: Iterator[str]) -> Iterator[tuple[int, Bytes]]:
        sent = self._clock.cycle
        for row in rows:
            self.unit.instruction = next(labels, "")
            cycles = ceil(row.shape[1] / self._bytes_per_cycle)
            self.unit.add(BUSY, cycles, row.shape[1])
            sent += cycles
            yield sent + self._latency_cycles, row

    def _work(self, rows: list[Bytes], labels: Iterator[str]) -> Work:
        for row in rows:
            self.unit.instruction = next(labels, "")
            room = self.rows.room()
            yield from self.unit.wait(room, Reason.FIFO, lambda: "an infeed to take the activations that it sent")
            yield self._clock.timeout(ceil(row.shape[1] / self._bytes_per_cycle))
            self.unit.spend(BUSY, moved_bytes=row.shape[1])
            arrival = self._clock.timeout(self._latency_cycles)
            arrival.callbacks.append(lambda _, row=row: self.rows.put(row))  # type: ignore[misc]


class HostOutfeed:
    """Takes rows of results.

    Timing: a row of r bytes occupies the link for ceil(r / bytes_per_cycle) cycles and is at the host latency_cycles
    later.
    """

    def __init__(self, clock: Clock, unit: Unit, topology: Topology, samples: int) -> None:
        self.unit = unit
        self.received: dict[int, list[Bytes]] = {}
        self.arrivals: dict[int, int] = {}
        self._clock = clock
        self._latency_cycles = topology.host.latency_cycles
        self._bytes_per_cycle = topology.host.bytes_per_cycle
        self._samples = samples

    def receive(self, output: int, row: Bytes, sender: str, instant: bool = False) -> Work:
        """Carry one row of output number ``output`` over the link for the outfeed ``sender``, in no time if that is
        ``instant``.
        """
        self.unit.spend("idle")
        self.unit.instruction = sender
        if not instant:
            yield self._clock.timeout(ceil(row.shape[1] / self._bytes_per_cycle))
        self.unit.spend(BUSY, moved_bytes=row.shape[1])
        self.arrivals[output] = self._clock.cycle + (0 if instant else self._latency_cycles)
        self.received.setdefault(output, []).append(row)

    @property
    def last_arrival(self) -> int:
        """The cycle in which the last row was at the host."""
        return self.arrival(self.arrivals)

    def arrival(self, outputs: Iterable[int]) -> int:
        """The cycle in which the last row of some outputs was at the host; 0 if there is none."""
        return max((self.arrivals[output] for output in outputs if output in self.arrivals), default=0)

    def output(self, output: int) -> Bytes:
        """All bytes of one output, (samples, bytes)."""
        rows = joined(self.received[output])
        return np.broadcast_to(rows, (self._samples, rows.shape[1]))


def _takers(instructions: Iterable[Instruction]) -> Iterator[str]:
    """The label of the infeed that takes each row of the host, in order."""
    for op in instructions:
        if isinstance(op, Infeed) and op.source == "host":
            yield from repeat(op.label, op.total_rows)
