"""A tile's ring producer: reads wide rows and multicasts them."""

from __future__ import annotations

from collections import Counter

from tilesim.sim.clock import Phase
from tilesim.sim.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.fields import Flag
from tilesim.tiled.isa.instructions import RingProduce
from tilesim.tiled.units import ttu
from tilesim.tiled.units.engine import Engine, Surroundings, Work, completions, gates_by_round
from tilesim.tiled.units.memories import WideRank
from tilesim.tiled.units.ring import Packet, RingStop


class RingProducer(Engine[RingProduce]):
    """Reads a row through the wide port, where only ring commits go before it, then puts it on the ring.

    Timing: unloaded, a row read in cycle t enters the link in t + 1; the next row is read in the cycle after that; R
    rows take 2 * R cycles. Source: US 2025/0265455 [0035]; one row at a time is an assumption.
    """

    def __init__(self, tile: Surroundings, unit: Unit, order: int, stop: RingStop) -> None:
        super().__init__(tile, unit, order, Flag.RING_WRITE)
        self._stop = stop

    def execute(self, op: RingProduce) -> Work:
        yield from self.watch(op.wait)
        nest = op.read.nest
        rises = Counter(completions(nest, op.produce))
        held = gates_by_round(nest, op.wait)
        addresses = ttu.addresses(nest, op.read.reference)
        for row in range(len(addresses)):
            for gate in held.get(row, ()):
                yield from self.await_flag(gate)
            yield from self._claim_port()
            data = self.tile.memories.wide.words(addresses[row : row + 1], self.tile.memories.row_bytes)[:, 0]
            sent = self._stop.send(Packet(op.to, data, row == len(addresses) - 1, op.label))
            yield from self.unit.wait(sent, Reason.CREDIT, lambda: "the ring to take its packet")
            yield self.tile.clock.timeout(1)
            self.unit.spend(BUSY, moved_bytes=self.tile.memories.row_bytes)
            self.raise_flag(rises[row + 1])

    def _claim_port(self) -> Work:
        """Take the wide port for one cycle, the first one that no ring commit has."""
        clock, port = self.tile.clock, self.tile.memories.wide_port
        while True:
            yield clock.phase(Phase.CLAIM)
            now = clock.cycle
            free, _ = port.free(WideRank.RING_PRODUCER, now)
            if free:
                break
            yield clock.timeout(1)
            self.unit.spend(Reason.PORT.kind)
        port.taken[WideRank.RING_PRODUCER].append(now, now + 1)
        self.tile.arbiter.change()
        yield clock.timeout(1)
        self.unit.spend(BUSY)
