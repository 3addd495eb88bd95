"""Notices when nothing happens any more but that packets go round the ring for ever."""

from __future__ import annotations

from collections.abc import Callable

from tilesim.tiled.stepped.clock import Clock
from tilesim.tiled.stepped.ring import RingStop

PATIENCE_LAPS = 1024
"""Laps for which somebody may wait who counts tails, when nothing else happens."""


class LivelockMonitor:
    """Compares the ring with what it was like in each cycle since the last in which anybody else did anything.

    If it is as it was, so will it be for ever; ``awaits_tails`` says that somebody counts the tails that come by, so
    that each lap is progress, but not for longer than ``PATIENCE_LAPS``.
    """

    def __init__(self, clock: Clock, stops: list[RingStop], awaits_tails: Callable[[], bool], hop_cycles: int) -> None:
        self._clock = clock
        self._stops = stops
        self._awaits_tails = awaits_tails
        self._patience_cycles = PATIENCE_LAPS * len(stops) * hop_cycles
        self._seen: set[tuple[object, ...]] = set()
        self._waited_cycles = 0

    def endless(self) -> bool:
        """Whether packets only go round; to be asked in each cycle."""
        if not self._clock.all_wait:
            self._seen.clear()
            self._waited_cycles = 0
            return False
        self._waited_cycles += 1
        state = tuple(stop.state() for stop in self._stops)
        again = state in self._seen
        self._seen.add(state)
        return again and (self._waited_cycles > self._patience_cycles or not self._awaits_tails())
