"""A bounded first-in first-out queue between two units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import simpy

from tilesim.sim.core.clock import Clock

Item = TypeVar("Item")


class Fifo(Generic[Item]):
    """Holds at most ``depth`` items; one producer, one consumer.

    A place that is freed in cycle t can be filled from cycle t + 1 on. ``on_fill`` hears how many items wait whenever
    that has changed.
    """

    __slots__ = ("_clock", "_getter", "_leaving", "_occupied", "_waiting", "depth", "items", "on_fill")

    def __init__(self, clock: Clock, depth: int) -> None:
        self._clock = clock
        self.depth = depth
        self.items: list[Item] = []
        self._occupied = 0
        self._leaving: list[int] = []
        self._getter: simpy.Event | None = None
        self._waiting: Callable[[], None] | None = None
        self.on_fill: Callable[[int], None] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def room(self) -> simpy.Event:
        """When there is a place for one item more; the place is then the caller's, who must :meth:`put`."""
        event = self._clock.event()

        def claim() -> None:
            if self.claim(claim):
                event.succeed()

        claim()
        return event

    def claim(self, otherwise: Callable[[], None]) -> bool:
        """Take a place, which is then the caller's, if there is one; else ``otherwise`` is called when there may be."""
        now = self._clock.cycle
        while self._leaving and self._leaving[0] <= now:
            self._leaving.pop(0)
            self._occupied -= 1
        if self._occupied < self.depth:
            self._occupied += 1
            return True
        if self._waiting is None and self._leaving:
            self._tell(self._leaving[0] - now)
        self._waiting = otherwise
        return False

    def put(self, item: Item) -> None:
        """Fill the place that was taken."""
        self.items.append(item)
        if self._getter is not None:
            getter, self._getter = self._getter, None
            getter.succeed(self._take())
        elif self.on_fill is not None:
            self.on_fill(len(self.items))

    def get(self) -> simpy.Event:
        """The next item, when there is one."""
        event = self._clock.event()
        if self.items:
            event.succeed(self._take())
        else:
            self._getter = event
        return event

    def get_now(self) -> Item | None:
        """The next item, if there is one now."""
        return self._take() if self.items else None

    def _take(self) -> Item:
        item = self.items.pop(0)
        self._leaving.append(self._clock.cycle + 1)
        if self._waiting is not None:
            self._tell(1)
        if self.on_fill is not None:
            self.on_fill(len(self.items))
        return item

    def _tell(self, after_cycles: int) -> None:
        """Somebody waits for the place that is free then."""
        self._clock.timeout(after_cycles).callbacks.append(self._offer)

    def _offer(self, _: simpy.Event) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting()
