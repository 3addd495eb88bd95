"""A tile's ring producer: reads wide rows and multicasts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

from tilesim.sim.core.clock import Phase, Work
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.model.fields import ORDINALS, Channel, Engine, Flag, MemoryName
from tilesim.tiled.isa.model.instructions import RingProduce
from tilesim.tiled.isa.model.loops import completions
from tilesim.tiled.units.engine import TileContext, TileEngine, gates_by_round
from tilesim.tiled.units.ring.ring import Packet, RingStop
from tilesim.tiled.units.ring.ring_monitor import SentTransfer

PASSING = "transfers that pass the tile's ring stop"


class RingProducer(TileEngine[RingProduce]):
    """Reads a row through the wide port, where only ring commits go before it, then puts it on the ring.

    Timing: unloaded, a row read in cycle t enters the link from t + 1 on, for the k = ceil(row bytes /
    ring.width_bytes) cycles of a link; the next row is read in the cycle after that; R rows take (1 + k) * R cycles;
    its flag rises with rows that have left. A tail of which the last part passes the tile's stop in t raises
    ``ring_producer_a`` at t + 1, on channel B ``ring_producer_b``: who is to be the k-th master there waits for k of
    them. There is one producer for both channels, whose instructions keep their order. Source: US 2025/0265455 [0035];
    that masters take turns by counting is from the Edge TPU's programs as reported by others, what is counted and one
    row at a time are assumptions.
    """

    def __init__(
        self,
        tile: TileContext,
        unit: Unit,
        stops: Mapping[Channel, RingStop],
        buffer: Fifo[RingProduce] | None = None,
    ) -> None:
        super().__init__(tile, unit, Engine.RING_PRODUCER, buffer)
        self._stops = stops
        self._fetching = tile.memories.slot(self.name, "read", MemoryName.WIDE)
        for channel, stop in stops.items():
            stop.on_tail = partial(tile.flags.raise_by, ORDINALS[channel])

    def raising(self, flag: Flag) -> list[str]:
        return [PASSING] if flag in ORDINALS.values() else super().raising(flag)

    def execute(self, op: RingProduce) -> Work:
        yield from self.watch(op.wait)
        nest = op.read.nest
        rises = Counter(completions(nest, op.produce))
        held = gates_by_round(nest, op.wait)
        addresses = self.tile.ttu.addresses(nest, op.read.reference)
        stop = self._stops[op.channel]
        transfer = SentTransfer(op.label, 0, stop.node, op.to)
        for row in range(len(addresses)):
            for gate in held.get(row, ()):
                yield from self.await_flag(gate)
            if not self.unit.instant:
                yield from self._claim_port()
            data = self.tile.memories.wide.row(int(addresses[row]), self.tile.memories.row_bytes)
            packet = Packet(op.to, data, row == len(addresses) - 1, op.label, transfer, row, self.unit.instant)
            yield from stop.transmit(self.unit, packet)
            self.raise_flag(rises[row + 1])

    def _claim_port(self) -> Work:
        """Take the wide port for one cycle, the first one that no ring commit has."""
        clock, slot = self.tile.clock, self._fetching
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
