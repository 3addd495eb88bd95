"""The weight FIFO between weight memory and the array, and the path into it: registers beside the cells, through which
the next tile comes while this one computes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import simpy
from numpy.typing import NDArray

from tilesim.sim.core.action import Action
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.systolic.topology import Topology


class WeightTile(NamedTuple):
    """Weights, (inputs, outputs), of ``weight_bytes`` bytes each, as the instruction ``label`` fetched them."""

    weights: NDArray[Any]
    weight_bytes: int
    label: str


class WeightFifo:
    """Holds ``tiles`` tiles, those on their way and the one that is being shifted into the array included.

    A place that is freed in cycle t can be taken in t; ``on_fill`` hears how many are taken whenever that may have
    changed. Source: Jouppi et al., ISCA 2017, section 2 (four tiles deep); that a tile keeps its place while it is
    shifted in is an assumption.
    """

    def __init__(self, clock: Clock, tiles: int) -> None:
        self.on_fill: Callable[[int], None] | None = None
        self._places = simpy.Container(clock, tiles, init=tiles)
        self._tiles = simpy.Store(clock)
        self._coming: deque[WeightTile] = deque()
        self._clock = clock

    def place(self) -> simpy.Event:
        """When there is a place for one tile more, which is then the caller's."""
        place = self._places.get(1)
        self._tell()
        return place

    def bring(self, tile: WeightTile, cycle: int) -> None:
        """Have ``tile`` there, in the place that was taken, in ``cycle``; not before the one before it."""
        self._coming.append(tile)
        arrival = self._clock.timeout(cycle - self._clock.cycle)
        arrival.callbacks.append(self._arrive)

    def head(self) -> simpy.Event:
        """The next tile, when it is there; its place stays taken."""
        return self._tiles.get()

    def free(self) -> None:
        """The tile at the head has left its place."""
        self._places.put(1)
        self._tell()

    def _tell(self) -> None:
        if self.on_fill is not None:
            self.on_fill(int(self._places.capacity - self._places.level))

    def _arrive(self, _: simpy.Event) -> None:
        self._tiles.put(self._coming.popleft())


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
        self._tile: WeightTile | None = None
        self._left = clock.event()

    @property
    def full(self) -> bool:
        return self._tile is not None

    def take(self) -> WeightTile:
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
            tile: WeightTile = yield from self.unit.wait(self._fifo.head(), Reason.INSTRUCTION)
            self.unit.instruction = tile.label
            self.shifting, self.shifting_since = True, self._clock.cycle
            yield self._clock.timeout(self._array.shift_cycles(tile.weight_bytes))
            self.shifting = False
            self.unit.spend(BUSY)
            hops = inputs * (inputs + 1) // 2  # of a byte of each row: 1 to the first, ... inputs to the last
            self.unit.act({Action.CELL_HOP: hops * outputs * tile.weight_bytes})
            self._fifo.free()
            self._tile = tile
            self.filled.succeed()
            yield from self.unit.wait(self._left, Reason.FIFO, lambda: "a multiply that switches to its tile")
