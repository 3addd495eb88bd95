"""The packets of one transfer on the ring as arrays of cycles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.memory import Bytes

Cycles = NDArray[np.int64]

NEVER = 1 << 60
"""A cycle after every run, to which a few more can be added."""
UNKNOWN = NEVER >> 1
"""Cycles from here on are not known: they hang on something that has not happened yet."""


class PacketTrain:
    """The ``rows`` packets that ``label`` sends from ``node``, one of ``nodes``, to the stops in the bitmap ``to``.

    ``times[p, k]``: when packet k is handled p stops after ``node``: sent, forwarded or taken. A packet is ready to be
    sent ``gap_cycles`` after the one before has left, and not before ``ready[k]``; at the position of a destination it
    waits until ``takers`` says that a receiver can take it. The trains ``ahead`` pass first wherever both do.

    Timing: that of :class:`~tilesim.tiled.units.ring.RingStop`, which see: a stop handles a packet as soon as it stands
    there, the stop has handled those before, the receiver is ready, and the next stop has a place, that is, has handled
    the one hop_cycles + 1 packets before a cycle ago.
    """

    def __init__(self, label: str, node: int, to: int, rows: int, gap_cycles: int, nodes: int, hop_cycles: int) -> None:
        self.label = label
        self.node = node
        self.rows = rows
        self.gap_cycles = gap_cycles
        self.destinations = sorted((bit + 1 - node) % nodes for bit in range(to.bit_length()) if to >> bit & 1)
        self.reach = self.destinations[-1]
        self.ready: Cycles = np.full(rows, NEVER, np.int64)
        self.released = 0
        self.data: list[Bytes] = []
        self.takers: dict[int, Cycles] = {}
        self.ahead: list[PacketTrain] = []
        self.held: list[tuple[int, int, int]] = []
        self._nodes = nodes
        self._hop_cycles = hop_cycles
        self._gaps: Cycles = gap_cycles * np.arange(rows)
        self._hops: Cycles = (hop_cycles * np.arange(self.reach + 1))[:, None]
        self.times: Cycles = np.full((self.reach + 1, rows), NEVER, np.int64)

    @property
    def leaves(self) -> Cycles:
        """When each packet enters its first link."""
        leaves: Cycles = self.times[0]
        return leaves

    @property
    def asked(self) -> Cycles:
        """When each packet is ready to enter its first link."""
        asked: Cycles = self.ready.copy()
        np.maximum(asked[1:], self.leaves[:-1] + self.gap_cycles, out=asked[1:])
        return asked

    def arrival(self, place: int) -> int:
        """When the first packet stands ``place`` stops after the first one."""
        return int(self.times[place - 1, 0]) + self._hop_cycles

    def position(self, node: int) -> int:
        """How many stops after its master ``node`` comes."""
        return (node - self.node) % self._nodes

    def shares(self, other: PacketTrain) -> bool:
        """Whether there is a stop that both pass."""
        return self.position(other.node) <= self.reach or other.position(self.node) <= other.reach

    def release(self, ready: Cycles, data: Bytes) -> None:
        """The next packets, (samples or 1, packets, row bytes), may be sent from ``ready`` on."""
        self.ready[self.released : self.released + len(ready)] = ready
        self.released += len(ready)
        self.data.append(data)

    def rows_of(self, first: int, end: int) -> Bytes:
        """The data of some of the packets, (samples or 1, packets, row bytes)."""
        if len(self.data) > 1:
            self.data = [np.concatenate(self.data, axis=1)]
        return self.data[0][:, first:end]

    def plan(self) -> None:
        """Work out ``times``."""
        self.held = []
        leaves = np.maximum.accumulate(self.ready - self._gaps) + self._gaps
        times = leaves + self._hops
        if self._is_clear(times):
            self.times = times
        else:
            self.times = self._queued()

    def _is_clear(self, times: Cycles) -> bool:
        """Whether no packet waits anywhere."""
        if any((times[place] < ready).any() for place, ready in self.takers.items()):
            return False
        return all(last < times[max(place - 1, 0), 0] for other in self.ahead for place, last in self._last(other))

    def _last(self, other: PacketTrain) -> list[tuple[int, int]]:
        """The positions at which ``other`` passes too, and when its last packet is handled there."""
        places = ((place, other.position(self.node + place)) for place in range(self.reach + 1))
        return [(place, int(other.times[theirs, -1])) for place, theirs in places if theirs <= other.reach]

    def _queued(self) -> Cycles:
        """When each packet is handled where packets wait for one another, one packet after the other."""
        handled = [self._before(place) for place in range(self.reach + 1)]
        takers = [
            ready.tolist() if (ready := self.takers.get(place)) is not None else None for place in range(self.reach + 1)
        ]
        floor = max((self._link_free(other) for other in self.ahead), default=0)
        ready, sent = self.ready.tolist(), -self.gap_cycles
        for k in range(self.rows):
            asked = max(ready[k], sent + self.gap_cycles, 0 if k else floor)
            sent = at = self._granted(0, k, asked, handled)
            handled[0].append(sent)
            for place in range(1, self.reach + 1):
                free = max(at + self._hop_cycles, handled[place][-1] + 1)
                taker = takers[place]
                if taker is not None and taker[k] > free:
                    free = taker[k]
                at = free if place == self.reach else self._granted(place, k, free, handled)
                handled[place].append(at)
        places = self._hop_cycles + 1
        return np.minimum([each[places:] for each in handled], NEVER)

    def _link_free(self, other: PacketTrain) -> int:
        """When the first link is free of ``other``, which passes there or ends at the stop before it."""
        place = other.position(self.node)
        return int(other.times[place, -1]) + (place < other.reach) if place <= other.reach else 0

    def _granted(self, place: int, k: int, free: int, handled: list[list[int]]) -> int:
        """When packet ``k``, which could go on in ``free``, has a place at the next stop."""
        at = handled[place + 1][k] + 1
        if at <= free:
            return free
        if free < UNKNOWN:
            self.held.append((place, free, min(at, NEVER)))
        return at

    def _before(self, place: int) -> list[int]:
        """When the last packets that came to a stop before these were handled, as many as it has places."""
        places = self._hop_cycles + 1
        found = [-places + k - 1 for k in range(places)]
        for other in self.ahead:
            theirs = other.position(self.node + place)
            if 0 < theirs <= other.reach:
                found += other.times[theirs, -places:].tolist()
        return sorted(found)[-places:]
