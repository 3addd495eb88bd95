"""Accesses to a port that are known before they are made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.arbiter import Arbiter
from tilesim.sim.clock import Clock
from tilesim.sim.pipe import Slot

Cycles = NDArray[np.int64]


class Announcement:
    """Single accesses to come at a port, told to all below; from the present cycle on they can change."""

    def __init__(self, arbiter: Arbiter, slot: Slot, clock: Clock) -> None:
        self._arbiter = arbiter
        self._slot = slot
        self._clock = clock
        self._told: Cycles = np.zeros(0, np.int64)

    def tell(self, cycles: Cycles) -> None:
        now = self._clock.cycle
        cycles = cycles[np.searchsorted(cycles, now) :]
        told = self._told[np.searchsorted(self._told, now) :]
        if len(told) == len(cycles) and (told == cycles).all():
            return
        if len(told):
            self._arbiter.revoke(self._slot, now)
        self._told = cycles
        if len(cycles):
            self._arbiter.announce(self._slot, cycles.tolist())
