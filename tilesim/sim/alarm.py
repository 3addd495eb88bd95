"""An alarm clock that can be set anew while somebody sleeps."""

from __future__ import annotations

import simpy

from tilesim.sim.clock import Clock


class Alarm:
    """Wakes one waiting process at the cycle that was set last; setting it again takes the earlier setting back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ring = clock.event()
        self._setting: simpy.Event | None = None

    def set(self, cycle: int | None) -> None:
        """Ring at ``cycle`` (None: not at all until set again)."""
        if cycle is None:
            self._setting = None
            return
        timeout = self._clock.timeout(cycle - self._clock.cycle)
        timeout.callbacks.append(self._fire)
        self._setting = timeout

    def wait(self) -> simpy.Event:
        """The next ring."""
        self._ring = self._clock.event()
        return self._ring

    def _fire(self, timeout: simpy.Event) -> None:
        if timeout is self._setting:
            self._setting = None
            self._ring.succeed()
