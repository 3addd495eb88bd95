"""One instruction buffer for both ring roles of a tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import simpy

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.fifo import Fifo


class RingQueue:
    """Hands its instructions out in order, each when the roles of all before it have come to their end.

    So the tile is a producer or a consumer at a time. Each role has a :class:`RoleQueue` for a buffer of its own; a
    role whose instruction is not at the head waits for an instruction as if there were none.

    Timing: as that of a buffer of one engine: the next instruction starts in the cycle in which the one before retires.
    Source: US 2025/0265455 [0035].
    """

    def __init__(self, clock: Clock, depth: int) -> None:
        self.clock = clock
        self.fifo: Fifo[tuple[RoleQueue, Any]] = Fifo(clock, depth)
        self._shares: list[RoleQueue] = []

    def share(self) -> RoleQueue:
        """The buffer of one role."""
        self._shares.append(RoleQueue(self))
        return self._shares[-1]

    def offer(self) -> None:
        """Hand out what is at the head if no role is at work."""
        if all(share.getter is not None for share in self._shares):
            self.fifo.get().callbacks.append(self._hand_out)

    @staticmethod
    def _hand_out(event: simpy.Event) -> None:
        share, op = cast(tuple[RoleQueue, Any], event.value)
        getter, share.getter = share.getter, None
        assert getter is not None
        getter.succeed(op)


class RoleQueue(Fifo[Any]):
    """What one role sees of the queue: places are shared, instructions are its own."""

    def __init__(self, queue: RingQueue) -> None:
        super().__init__(queue.clock, queue.fifo.depth)
        self.getter: simpy.Event | None = None
        self._queue = queue

    def room(self) -> simpy.Event:
        return self._queue.fifo.room()

    def claim(self, otherwise: Callable[[], None]) -> bool:
        return self._queue.fifo.claim(otherwise)

    def put(self, item: Any) -> None:
        self._queue.fifo.put((self, item))

    def get(self) -> simpy.Event:
        """The next instruction of this role, when its turn has come; asking for it ends the one before."""
        self.getter = event = self._queue.clock.event()
        self._queue.offer()
        return event
