"""Weight memory, with a clock of its own, and the fetcher that brings its tiles into the weight FIFO."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from tilesim.sim.core.action import Action
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.systolic.isa.model.instructions import ReadWeights
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.data import Data
from tilesim.systolic.units.issue_queue import IssueQueue
from tilesim.systolic.units.weight_path import WeightFifo, WeightTile


class WeightMemory:
    """Transfers one block after the other, in ticks of its own clock, of which there are clock_hz a second.

    Timing: a block of n bytes asked for at t begins with tick max(end of the block before, ceil(t * weight clock /
    chip clock)) and takes ceil(n / transfer_bytes) ticks; ticks are exact, so that n blocks back to back take n times
    as long as one, to the fraction. A memory that was at rest waits for its next tick: one with a slightly faster
    clock may then be a cycle later, one that is an integer times as fast is not. Source: Jouppi et al., ISCA 2017,
    section 2 (34 GB/s); JP 7561916 B2, for its clock and a number of channels.
    """

    def __init__(self, topology: Topology) -> None:
        self._chip_hz = topology.clock_hz
        self._hz = topology.weight_memory.clock_hz
        self._transfer_bytes = topology.weight_memory.transfer_bytes
        self._free_tick = 0

    def transfer(self, cycle: int, block_bytes: int) -> tuple[int, int]:
        """Transfer a block asked for in ``cycle``: the cycle in which that ends, and the first one that has it all."""
        start = max(self._free_tick, -(-cycle * self._hz // self._chip_hz))
        self._free_tick = start + -(-block_bytes // self._transfer_bytes)
        end = self._free_tick * self._chip_hz
        return end // self._hz, -(-end // self._hz)


class WeightFetcher:
    """Fetches tiles ahead of their use, as long as the FIFO has places for them.

    Timing: for each tile it takes a place in the FIFO, then weight memory transfers it; the next may take its place in
    the cycle in which that ends. An instruction retires when its last tile is in the FIFO. n tiles back to back take
    n * ``weight_tile_cycles``, rounded up once. It is busy from when it has a place until the transfer ends, which are
    the cycles of weight memory too, and stalls (``fifo``) without a place. Source: Jouppi et al., ISCA 2017, section 2.
    """

    def __init__(
        self,
        clock: Clock,
        link: Unit,
        topology: Topology,
        issue_queue: IssueQueue[ReadWeights],
        fifo: WeightFifo,
        data: Data,
    ) -> None:
        self._clock = clock
        self._link = link
        self._topology = topology
        self._issue_queue = issue_queue
        self._fifo = fifo
        self._data = data
        self._memory = WeightMemory(topology)
        self._fetched = 0

    def work(self) -> Generator[simpy.Event, Any, None]:
        while True:
            op = yield from self._issue_queue.next()
            yield from self._issue_queue.begin(op)
            tile_bytes = self._topology.weight_tile_bytes * op.weight_bytes
            there = self._clock.cycle
            for tile in [WeightTile(self._data.tile(op, k), op.weight_bytes, op.label) for k in range(op.tiles)]:
                there = yield from self._fetch(tile, tile_bytes)
            self._issue_queue.retire(op, there)

    def _fetch(self, tile: WeightTile, tile_bytes: int) -> Generator[simpy.Event, Any, int]:
        unit, link = self._issue_queue.unit, self._link
        place = self._fifo.place()
        if not place.triggered:
            yield from unit.wait(place, Reason.FIFO, lambda: f"a place in the weight FIFO for tile {self._fetched + 1}")
        link.spend("idle")
        link.instruction = tile.label
        now = self._clock.cycle
        end, there = (now, now) if unit.instant else self._memory.transfer(now, tile_bytes)
        if end > self._clock.cycle:
            yield self._clock.timeout(end - self._clock.cycle)
        unit.spend(BUSY)
        unit.act({Action.WEIGHT_MEMORY_READ: tile_bytes})
        link.spend(BUSY, moved_bytes=tile_bytes)
        self._fifo.bring(tile, there)
        self._fetched += 1
        return there
