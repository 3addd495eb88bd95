"""A bounded first-in first-out queue between two units."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from tilesim.tiled.stepped.clock import Clock

Item = TypeVar("Item")


class Fifo(Generic[Item]):
    """Holds at most ``depth`` items, places that are kept for items on their way included.

    Timing: a place that is freed in cycle t can be used from t + 1 on.
    """

    def __init__(self, clock: Clock, depth: int) -> None:
        self.depth = depth
        self._clock = clock
        self._items: deque[tuple[int, Item]] = deque()
        self._used = 0
        self._freed = 0
        self._freed_in = -1

    def room(self) -> bool:
        """Whether there is a place in this cycle."""
        return self._used - (self._freed if self._freed_in < self._clock.cycle else 0) < self.depth

    def reserve(self) -> None:
        """Keep a place for an item that will be :meth:`put`."""
        self._used += 1
        self._clock.stir()

    def put(self, item: Item, later_cycles: int = 0) -> None:
        """Fill a place that was kept; the item can be taken so many cycles later."""
        self._items.append((self._clock.cycle + later_cycles, item))
        self._clock.stir(later_cycles)

    def head(self) -> Item | None:
        """The item that can be taken in this cycle."""
        return self._items[0][1] if self._items and self._items[0][0] <= self._clock.cycle else None

    def take(self) -> Item:
        """Take the head."""
        if self._freed_in < self._clock.cycle:
            self._used -= self._freed
            self._freed, self._freed_in = 0, self._clock.cycle
        self._freed += 1
        self._clock.stir()
        return self._items.popleft()[1]
