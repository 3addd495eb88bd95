"""The weight path: registers beside the cells, through which the next tile comes while this one computes."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from tilesim.sim.core.action import Action
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.systolic.array_timing import shift_cycles
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.weight_fifo import Tile, WeightFifo


class WeightPath:
    """Shifts one tile after the other in, a row of cells a cycle, and holds it until the cells take it over.

    Timing: a tile of b-byte weights that is in the FIFO, with the path free, at s is in the path at s + inputs * b,
    where its place in the FIFO is free again. A multiply that switches to it at t frees the path at t: new weights run
    behind the front of the switch. It is busy while it shifts, and stalls (``fifo``) while it is full. Source: WO
    2016/186801, Fig. 4; Jouppi et al., ISCA 2017, section 2 (256 cycles); that wider weights take twice as long is an
    assumption.

    ``shifting`` says whether a tile is on its way in, ``shifting_since`` when the last shift began; ``filled`` happens
    when the path is full.
    """

    def __init__(self, clock: Clock, unit: Unit, topology: Topology, fifo: WeightFifo) -> None:
        self.unit = unit
        self.shifting = False
        self.shifting_since = 0
        self.taken = 0
        self.filled = clock.event()
        self._clock = clock
        self._array = topology.array
        self._fifo = fifo
        self._tile: Tile | None = None
        self._left = clock.event()

    @property
    def full(self) -> bool:
        return self._tile is not None

    def take(self) -> Tile:
        """The tile in the path, which leaves it now."""
        assert self._tile is not None
        tile, self._tile = self._tile, None
        self.taken += 1
        self.filled, left = self._clock.event(), self._left
        self._left = self._clock.event()
        left.succeed()
        return tile

    def work(self) -> Generator[simpy.Event, Any, None]:
        inputs, outputs = self._array.inputs, self._array.outputs
        while True:
            self.unit.instruction = ""
            tile: Tile = yield from self.unit.wait(self._fifo.head(), Reason.INSTRUCTION)
            self.unit.instruction = tile.label
            self.shifting, self.shifting_since = True, self._clock.cycle
            yield self._clock.timeout(shift_cycles(self._array, tile.weight_bytes))
            self.shifting = False
            self.unit.spend(BUSY)
            hops = inputs * (inputs + 1) // 2  # of a byte of each row: 1 to the first, ... inputs to the last
            self.unit.act({Action.CELL_HOP: hops * outputs * tile.weight_bytes})
            self._fifo.free()
            self._tile = tile
            self.filled.succeed()
            yield from self.unit.wait(self._left, Reason.FIFO, lambda: "a multiply that switches to its tile")
