"""A tile's ring producer: reads wide rows and multicasts them."""

from __future__ import annotations

from collections import Counter
from functools import partial

from tilesim.sim.clock import Phase
from tilesim.sim.fifo import Fifo
from tilesim.sim.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.fields import Flag
from tilesim.tiled.isa.instructions import RingProduce
from tilesim.tiled.units.engine import Engine, Surroundings, Work, completions, gates_by_round
from tilesim.tiled.units.memories import WideRank
from tilesim.tiled.units.ring import Packet, RingStop
from tilesim.tiled.units.ring_monitor import Transfer

ORDINAL = Flag.RING_PRODUCER_A
"""Counts the transfers that have passed a tile's ring stop: who is to be the k-th master there waits for k of them."""
PASSING = "transfers that pass the tile's ring stop"


class RingProducer(Engine[RingProduce]):
    """Reads a row through the wide port, where only ring commits go before it, then puts it on the ring.

    Timing: unloaded, a row read in cycle t enters the link in t + 1; the next row is read in the cycle after that; R
    rows take 2 * R cycles; its flag rises with rows that have left. A tail that passes the tile's stop in t raises
    ``ORDINAL`` at t + 1. Source: US 2025/0265455 [0035]; that masters take turns by counting is from the Edge TPU's
    programs as reported by others, what is counted and one row at a time are assumptions.
    """

    def __init__(self, tile: Surroundings, unit: Unit, stop: RingStop, buffer: Fifo[RingProduce] | None = None) -> None:
        super().__init__(tile, unit, Flag.RING_WRITE, buffer)
        self._stop = stop
        stop.on_tail = partial(tile.flags.raise_by, ORDINAL)

    def raising(self, flag: Flag) -> list[str]:
        return [PASSING] if flag == ORDINAL else super().raising(flag)

    def execute(self, op: RingProduce) -> Work:
        yield from self.watch(op.wait)
        nest = op.read.nest
        rises = Counter(completions(nest, op.produce))
        held = gates_by_round(nest, op.wait)
        addresses = self.tile.ttu.addresses(nest, op.read.reference)
        transfer = Transfer(op.label, 0, self._stop.node, op.to)
        for row in range(len(addresses)):
            for gate in held.get(row, ()):
                yield from self.await_flag(gate)
            yield from self._claim_port()
            data = self.tile.memories.wide.row(int(addresses[row]), self.tile.memories.row_bytes)
            sent = self._stop.send(Packet(op.to, data, row == len(addresses) - 1, op.label, transfer, row))
            yield from self.unit.wait(sent, Reason.CREDIT, lambda: "the ring to take its packet")
            yield self.tile.clock.timeout(1)
            self.unit.spend(BUSY, moved_bytes=self.tile.memories.row_bytes)
            self.raise_flag(rises[row + 1])

    def _claim_port(self) -> Work:
        """Take the wide port for one cycle, the first one that no ring commit has."""
        clock, slot = self.tile.clock, self.tile.memories.wide_access(WideRank.RING_PRODUCER)
        while True:
            yield clock.phase(Phase.CLAIM)
            free, _ = slot.port.free(slot.rank, clock.cycle)
            if free:
                break
            yield clock.timeout(1)
            self.unit.spend(Reason.PORT.kind)
        self.tile.arbiter.access(slot)
        yield clock.timeout(1)
        self.unit.spend(BUSY)
