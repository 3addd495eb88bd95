"""A tile's ring consumer: takes the rows that carry the tile's bit into wide memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
import simpy

from tilesim.sim.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.fields import Flag
from tilesim.tiled.isa.instructions import RingConsume
from tilesim.tiled.units import ttu
from tilesim.tiled.units.engine import Engine, Surroundings, Work, completions, gates_by_round
from tilesim.tiled.units.memories import WideRank
from tilesim.tiled.units.ring import Packet, RingStop


class RingConsumer(Engine[RingConsume]):
    """Supplies the address of each row; the ring's packets carry none.

    Timing: a row that is at the stop in cycle t when the consumer is posted is committed in t, ahead of everybody
    else at the wide port, and is seen at t + 1; peak rate one row a cycle. Source: US 2025/0265455 [0034]-[0035],
    [0046].
    """

    def __init__(self, tile: Surroundings, unit: Unit, order: int, stop: RingStop) -> None:
        self._stop = stop
        self._address: int | None = None
        self._taken: simpy.Event | None = None
        super().__init__(tile, unit, order, Flag.RING_READ_A)
        stop.receiver = self

    def execute(self, op: RingConsume) -> Work:
        yield from self.watch(op.wait)
        nest = op.write.nest
        rises = Counter(completions(nest, op.produce))
        held = gates_by_round(nest, op.wait)
        for row, address in enumerate(ttu.addresses(nest, op.write.reference).tolist()):
            for gate in held.get(row, ()):
                yield from self.await_flag(gate)
            self._address = address
            self._taken = self.tile.clock.event()
            self._stop.poke()
            yield from self.unit.wait(self._taken, Reason.FIFO, lambda row=row: f"row {row} from the ring")  # type: ignore[misc]
            yield self.tile.clock.timeout(1)
            self.unit.spend(BUSY, moved_bytes=self.tile.memories.row_bytes)
            self.raise_flag(rises[row + 1])

    def obstacle(self) -> str | None:
        if self._address is not None:
            return None
        if self.unit.waiting is not None and self.unit.waiting.reason is Reason.FLAG:
            return f"its ring consumer, which waits for {self.unit.waiting.describe()}"
        return "a ring consumer to be posted"

    def take(self, packet: Packet) -> None:
        assert self._address is not None
        assert self._taken is not None
        memories, now = self.tile.memories, self.tile.clock.cycle
        memories.wide.write_words(np.array([self._address]), packet.row[:, None])
        memories.wide_port.taken[WideRank.RING_COMMIT].append(now, now + 1)
        self.tile.arbiter.change()
        self._address = None
        self._taken.succeed()
