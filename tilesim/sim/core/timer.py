"""An alarm clock that can be set anew."""

from __future__ import annotations

from collections.abc import Callable

import simpy

from tilesim.sim.core.clock import Clock


class Timer:
    """Calls ``ring`` at the cycle that was set last; setting it again takes the earlier setting back."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._cycle: int | None = None
        self._setting: simpy.Event | None = None

    def set(self, cycle: int | None) -> None:
        """Ring at ``cycle`` (None: not at all until set again)."""
        if cycle == self._cycle:
            return
        self._cycle, self._setting = cycle, None
        if cycle is not None:
            self._setting = self._clock.timeout(cycle - self._clock.cycle)
            self._setting.callbacks.append(self._fire)

    def _fire(self, timeout: simpy.Event) -> None:
        if timeout is self._setting:
            self._cycle = self._setting = None
            self._ring()
