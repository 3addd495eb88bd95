"""A bounded first-in first-out queue between two units."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import simpy

from tilesim.sim.clock import Clock

Item = TypeVar("Item")


class Fifo(Generic[Item]):
    """Holds at most ``depth`` items; one producer, one consumer.

    A place that is freed in cycle t can be filled from cycle t + 1 on.
    """

    def __init__(self, clock: Clock, depth: int) -> None:
        self._clock = clock
        self.depth = depth
        self.items: deque[Item] = deque()
        self._occupied = 0
        self._getter: simpy.Event | None = None
        self._room: simpy.Event | None = None
        self._freed: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def room(self) -> simpy.Event:
        """When there is a place for one item more; the place is then the caller's, who must :meth:`put`."""
        event = self._clock.event()
        self._room = event
        self._offer()
        return event

    def claim(self, otherwise: Callable[[], None]) -> bool:
        """Take a place, which is then the caller's, if there is one; else ``otherwise`` is called when there may be."""
        if self._occupied < self.depth:
            self._occupied += 1
            return True
        self._freed = otherwise
        return False

    def put(self, item: Item) -> None:
        """Fill the place that :meth:`room` gave."""
        self.items.append(item)
        if self._getter is not None:
            getter, self._getter = self._getter, None
            getter.succeed(self._take())

    def get(self) -> simpy.Event:
        """The next item, when there is one."""
        event = self._clock.event()
        if self.items:
            event.succeed(self._take())
        else:
            self._getter = event
        return event

    def _take(self) -> Item:
        item = self.items.popleft()
        self._clock.timeout(1).callbacks.append(self._free_place)
        return item

    def _free_place(self, _: simpy.Event) -> None:
        self._occupied -= 1
        self._offer()
        if self._freed is not None:
            freed, self._freed = self._freed, None
            freed()

    def _offer(self) -> None:
        if self._room is not None and self._occupied < self.depth:
            self._occupied += 1
            room, self._room = self._room, None
            room.succeed()
