"""The packets of one transfer on the ring as arrays of cycles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.core.memory import Bytes, joined

Cycles = NDArray[np.int64]

NEVER = 1 << 60
"""A cycle after every run, to which a few more can be added."""
UNKNOWN = NEVER >> 1
"""Cycles from here on are not known: they hang on something that has not happened yet."""


@dataclass(frozen=True)
class TrainTiming:
    """Cycles in which a packet is fetched by its master, passes a link or a stop, and goes from stop to stop."""

    fetch_cycles: int
    row_cycles: int
    hop_cycles: int

    @property
    def gap_cycles(self) -> int:
        """From one packet that leaves its master to the next, if nothing is in its way."""
        return self.fetch_cycles + self.row_cycles


class PacketTrain:
    """The ``rows`` packets that ``label`` sends from ``node``, one of ``nodes``, to the stops in the bitmap ``to``.

    ``times[p, k]``: from when on packet k is handled p stops after ``node``: sent, forwarded or taken. A packet is
    ready to be sent ``timing.gap_cycles`` after the one before began to leave, and not before ``ready[k]``; at the
    position of a destination it waits until ``takers`` says that a receiver can take it. The trains ``ahead`` pass
    first wherever both do.

    Timing: that of :class:`~tilesim.tiled.units.ring.ring.RingStop`, which see: a stop handles a packet as soon as its
    header stands there, the stop has handled those before, the link is free, the receiver is ready, and the next stop
    has a place, that is, has handled the one hop_cycles + 1 packets before; handling takes ``timing.row_cycles``.
    """

    def __init__(self, label: str, node: int, to: int, rows: int, nodes: int, timing: TrainTiming) -> None:
        self.label = label
        self.node = node
        self.rows = rows
        self.timing = timing
        self.destinations = sorted((bit + 1 - node) % nodes for bit in range(to.bit_length()) if to >> bit & 1)
        self.reach = self.destinations[-1]
        self.ready: Cycles = np.full(rows, NEVER, np.int64)
        self.released = 0
        self.data: list[Bytes] = []
        self.stale = True
        self.takers: dict[int, Cycles] = {}
        self.ahead: list[PacketTrain] = []
        self._queues = False
        self._nodes = nodes
        self._gaps: Cycles = timing.gap_cycles * np.arange(rows)
        self._hops: Cycles = (timing.hop_cycles * np.arange(self.reach + 1))[:, None]
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
        np.maximum(asked[1:], self.leaves[:-1] + self.timing.gap_cycles, out=asked[1:])
        return asked

    def arrival(self, place: int, row: int = 0) -> int:
        """When the header of a packet stands ``place`` stops after the first one."""
        return int(self.times[place - 1, row]) + self.timing.hop_cycles

    @property
    def _places(self) -> int:
        """Those of a stop's register."""
        return self.timing.hop_cycles + 1

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
        self.stale = True
        self.data.append(data)

    def rows_of(self, first: int, end: int) -> Bytes:
        """The data of some of the packets, (samples or 1, packets, row bytes)."""
        self.data = [joined(self.data)]
        return self.data[0][:, first:end]

    def plan(self, now: int) -> bool:
        """Work out ``times``, of which those before ``now`` stay; whether they are others than before."""
        self.stale = False
        before = self.times
        leaves = np.maximum.accumulate(self.ready - self._gaps) + self._gaps
        self.times = leaves + self._hops
        self._queues = not self._is_clear()
        if self._queues:
            self.times = self._queued(before, int(np.searchsorted(before[-1], now)))
        return not np.array_equal(before, self.times)

    def forget(self) -> None:
        """What was planned was planned without knowing everything."""
        self.stale = True
        self.times = np.full(self.times.shape, NEVER)

    def _is_clear(self) -> bool:
        """Whether no packet waits anywhere if ``times`` are those of packets that don't."""
        if any((self.times[place] < ready).any() for place, ready in self.takers.items()):
            return False
        if not self.ahead:
            return True
        behind = all(
            last + self.timing.row_cycles <= self.times[place - 1, 0]
            for place in range(1, self.reach + 1)
            for last in self._last(place)
        )
        return behind and self._link_free() <= self.times[0, 0]

    def _last(self, place: int) -> Iterator[int]:
        """When the last packets of trains ahead that pass ``place`` stops on are handled there."""
        for other in self.ahead:
            theirs = other.position(self.node + place)
            if theirs <= other.reach:
                yield int(other.times[theirs, -1])

    def _link_free(self) -> int:
        """When the first link has carried what trains ahead forward at the first stop."""
        passing = [(other, other.position(self.node)) for other in self.ahead]
        return max(
            (
                int(other.times[place, -1]) + (self.timing.row_cycles if place < other.reach else 0)
                for other, place in passing
                if place <= other.reach
            ),
            default=0,
        )

    def _links_free(self) -> Cycles:
        """When each link on the way, up to the last stop's, has carried what trains ahead send there."""
        free: Cycles = np.zeros((self.reach + 1, 1), np.int64)
        for other in self.ahead:
            place = self.position(other.node)
            if 0 < place < self.reach:
                free[place] = max(free[place, 0], int(other.leaves[-1]) + self.timing.row_cycles)
        return free

    def _queued(self, before: Cycles, passed: int) -> Cycles:
        """When each packet is handled where packets wait for one another, one packet after the other, as long as they
        do. So many have ``passed`` the last stop, when ``before`` says.
        """
        places, row_cycles, gap_cycles = self._places, self.timing.row_cycles, self.timing.gap_cycles
        handled: Cycles = np.full((self.reach + 2, places + self.rows), -row_cycles, np.int64)
        handled[:-1, :places] = [self._before(place) for place in range(self.reach + 1)]
        handled[:-1, places : places + passed] = before[:, :passed]
        takers, hops, asked = self._taken_from(), self._hops[:, 0], self._link_free()
        if passed:
            asked = int(before[0, passed - 1]) + gap_cycles
        ready = self.ready.tolist()
        for k in range(passed, self.rows):
            free = np.maximum(handled[:-1, places + k - 1], handled[1:, k]) + row_cycles
            free[0] = max(ready[k], asked, handled[1, k] + row_cycles)
            np.maximum(free, takers[:, k], out=free)
            at = np.maximum.accumulate(free - hops) + hops
            handled[:-1, places + k] = at
            asked = int(at[0]) + gap_cycles
            if asked >= UNKNOWN:
                handled[:-1, places + k :] = NEVER
                break
            if at[-1] == at[0] + hops[-1] and self._is_followed(handled[:-1, places:], takers, k + 1, asked):
                break
        return np.minimum(handled[:-1, places:], NEVER)

    def _taken_from(self) -> Cycles:
        """From when on a receiver can take each packet at each stop, and the link, if it goes on, takes it."""
        takers: Cycles = np.repeat(self._links_free(), self.rows, axis=1)
        for place, row_ready in self.takers.items():
            takers[place] = np.maximum(takers[place], row_ready)
        return takers

    def _is_followed(self, times: Cycles, takers: Cycles, first: int, asked: int) -> bool:
        """Fill in packets from ``first`` on, of which the first is not sent before ``asked``, if none of them waits."""
        ready = self.ready[first:] - self._gaps[first:]
        if first == self.rows:
            return True
        ready[0] = max(ready[0], asked - self._gaps[first])
        followed = np.maximum.accumulate(ready) + self._gaps[first:] + self._hops
        if (followed < takers[:, first:]).any():
            return False
        times[:, first:] = followed
        return True

    def held(self) -> Iterator[tuple[int, int, int]]:
        """Where packets only wait for a place at the next stop, and from when to when."""
        if not self._queues:
            return
        times = self.times
        before = np.array([self._before(place)[-1:] for place in range(self.reach + 1)])
        row_cycles, taken_from = self.timing.row_cycles, self._taken_from()
        free = np.maximum(np.concatenate([before, times[:, :-1]], axis=1) + row_cycles, taken_from)
        free[1:] = np.maximum(free[1:], times[:-1] + self.timing.hop_cycles)
        free[0] = np.maximum(self.ready, self._link_free())
        free[0, 1:] = np.maximum(free[0, 1:], times[0, :-1] + self.timing.gap_cycles)
        for place, k in np.argwhere((free < np.minimum(times, UNKNOWN))[:-1]).tolist():
            yield place, int(free[place, k]), int(times[place, k])

    def _before(self, place: int) -> list[int]:
        """When the last packets that came to a stop before these were handled, as many as it has places."""
        places = self._places
        freed = [-self.timing.row_cycles] * places
        for other in self.ahead:
            theirs = other.position(self.node + place)
            if 0 < theirs <= other.reach:
                freed += other.times[theirs, -places:].tolist()
        return sorted(freed)[-places:]
