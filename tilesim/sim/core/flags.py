"""Counters that units wait on."""

from __future__ import annotations

from collections.abc import Callable

import simpy

from tilesim.sim.core.clock import Clock
from tilesim.sim.trace.recorder import Waker


class FlagFile:
    """A register file of sync flags: one counter a name.

    A flag rises at the cycle at which the write that it stands for can be seen. A watcher is released as soon as the
    count has reached what it expects (with ``strict``: exceeds it). ``on_count`` hears of every change. Source: US
    19/025,090 [0049]-[0051].
    """

    def __init__(self, clock: Clock, strict: bool = False) -> None:
        self._clock = clock
        self.strict = strict
        self.counts: dict[str, int] = {}
        self.on_count: Callable[[str, int], None] | None = None
        self._watches: dict[str, list[tuple[int, simpy.Event]]] = {}

    def count(self, flag: str) -> int:
        return self.counts.get(flag, 0)

    def met(self, flag: str, expected: int) -> bool:
        return self.count(flag) >= expected + self.strict

    def awaited(self, flag: str) -> bool:
        """Whether anybody waits for ``flag``."""
        return bool(self._watches.get(flag))

    def raise_by(self, flag: str, increment: int = 1, waker: Waker | None = None) -> None:
        """Raise ``flag``; those who waited for it hear of the ``waker``."""
        self.counts[flag] = count = self.count(flag) + increment
        if self.on_count is not None:
            self.on_count(flag, count)
        watches = self._watches.get(flag)
        if watches:
            self._watches[flag] = [watch for watch in watches if not self.met(flag, watch[0])]
            for expected, event in watches:
                if self.met(flag, expected):
                    event.succeed(waker)

    def reset(self, flag: str) -> None:
        self.counts[flag] = 0
        if self.on_count is not None:
            self.on_count(flag, 0)

    def reached(self, flag: str, expected: int) -> simpy.Event:
        """When ``flag`` has counted enough for ``expected``."""
        event = self._clock.event()
        if self.met(flag, expected):
            event.succeed()
        else:
            self._watches.setdefault(flag, []).append((expected, event))
        return event
