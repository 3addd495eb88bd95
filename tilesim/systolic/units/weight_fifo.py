"""The weight FIFO: tiles between weight memory and the array."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import simpy
from numpy.typing import NDArray

from tilesim.sim.core.clock import Clock


class Tile(NamedTuple):
    """Weights, (inputs, outputs), of ``weight_bytes`` bytes each, as the instruction ``label`` fetched them."""

    weights: NDArray[Any]
    weight_bytes: int
    label: str


class WeightFifo:
    """Holds ``tiles`` tiles, those on their way and the one that is being shifted into the array included.

    A place that is freed in cycle t can be taken in t. Source: Jouppi et al., ISCA 2017, section 2 (four tiles deep);
    that a tile keeps its place while it is shifted in is an assumption.
    """

    def __init__(self, clock: Clock, tiles: int) -> None:
        self._places = simpy.Container(clock, tiles, init=tiles)
        self._tiles = simpy.Store(clock)
        self._coming: deque[Tile] = deque()
        self._clock = clock

    def place(self) -> simpy.Event:
        """When there is a place for one tile more, which is then the caller's."""
        return self._places.get(1)

    def bring(self, tile: Tile, cycle: int) -> None:
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

    def _arrive(self, _: simpy.Event) -> None:
        self._tiles.put(self._coming.popleft())
