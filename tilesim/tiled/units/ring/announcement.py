"""Accesses to a port that are known before they are made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.core.clock import Clock
from tilesim.sim.pipe.arbiter import Arbiter
from tilesim.sim.pipe.course import Slot
from tilesim.tiled.isa.model.fields import Engine, MemoryName
from tilesim.tiled.isa.model.sheet import RANKS

Cycles = NDArray[np.int64]

RING_CLIENTS = (
    RANKS[Engine.RING_CONSUMER, "write", MemoryName.WIDE][1],
    RANKS[Engine.RING_PRODUCER, "read", MemoryName.WIDE][1],
)


class Unforeseen(Exception):
    """What comes of this only packets can tell."""


class Announcement:
    """Single accesses to come at a wide port, told to all below; from the present cycle on they can change.

    A row that would be read in the cycle of a commit has to wait for it, and so have all behind it: Unforeseen.
    """

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
            self._arbiter.announce(self._slot, cycles)
            self._must_be_apart(now)

    def _must_be_apart(self, now: int) -> None:
        port = self._slot.port
        if port.capacity > 1:
            return
        for rank in RING_CLIENTS:
            taken = port.taken[rank]
            if rank != self._slot.rank and taken.ends and taken.ends[-1] > now:
                starts, ends = (np.array(column) for column in taken.since(now))
                before = np.searchsorted(starts, self._told, "right")
                if (self._told < np.concatenate([[0], ends])[before]).any():
                    raise Unforeseen
