"""A stop of the ring in bursts: when the rows that it is to take are taken, and by whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import simpy

from tilesim.sim.core.clock import Timer
from tilesim.sim.core.memory import Bytes, joined
from tilesim.sim.core.unit import Unit
from tilesim.tiled.units.ring.announcement import Announcement
from tilesim.tiled.units.ring.packet_train import NEVER, UNKNOWN, Cycles, PacketTrain

if TYPE_CHECKING:
    from tilesim.tiled.units.ring.ring_bursts import BurstRing


@dataclass(frozen=True)
class Taken:
    """Rows that a receiver has taken off the ring, (samples or 1, rows, row bytes), and the first cycle of each."""

    cycles: Cycles
    rows: Bytes


@dataclass
class _Post:
    """A receiver's request for the next ``rows``, posted in cycle ``since``."""

    rows: int
    since: int
    event: simpy.Event
    commits: bool
    cycles: Cycles = field(default_factory=lambda: np.zeros(0, np.int64))


class BurstStop:
    """One node's stop: what its receiver asks for, and the transfers that bring it rows, in the order in which they do.

    ``commits``: where rows that are taken make an access; ``on_tail`` hears of tails as at a
    :class:`~tilesim.tiled.units.ring.ring.RingStop`.
    """

    def __init__(self, ring: BurstRing, node: int, link: Unit) -> None:
        self.ring = ring
        self.node = node
        self.link = link
        self.row_cycles = ring.row_cycles
        self.on_tail: Callable[[], None] | None = None
        self.commits: Announcement | None = None
        self.visits: list[PacketTrain] = []
        self._gone = 0
        self._post: _Post | None = None
        self._alarm = Timer(ring.clock, self._hand_over)

    def post(self, rows: int, commits: bool = False) -> simpy.Event:
        """Take the next ``rows`` from this cycle on; the event, in the cycle after the last part of the last one,
        brings what was :class:`Taken`. ``commits``: each makes an access with its last part.
        """
        self._post = _Post(rows, self.ring.clock.cycle, self.ring.clock.event(), commits)
        self.ring.touch(self)
        return self._post.event

    def expect(self, train: PacketTrain, behind: Sequence[PacketTrain]) -> None:
        """``train`` will come, before those ``behind`` it."""
        place = next((k for k, each in enumerate(self.visits) if each in behind), len(self.visits))
        self.visits.insert(place, train)

    def settle(self, now: int) -> bool:
        """Say what happens here as it is planned; False if that can't be, or may be otherwise."""
        cycles = self._cycles()
        covered = self._post.rows if self._post is not None else 0
        if self._post is not None:
            self._post.cycles = cycles[:covered]
            complete = len(cycles) >= covered and cycles[covered - 1] < UNKNOWN
            self._alarm.set(int(cycles[covered - 1]) + self.row_cycles if complete else None)
            if self.commits is not None and self._post.commits:
                self.commits.tell(self._post.cycles[self._post.cycles < UNKNOWN] + self.row_cycles - 1)
            if self._let(covered, self._post.since):
                return False
        if len(cycles) > covered and cycles[covered] < UNKNOWN:
            if cycles[covered] <= now:
                self._stop_at(covered)
                return False
            self.ring.touch(self, int(cycles[covered]))
        return True

    def _cycles(self) -> Cycles:
        """When each row from the next one on is taken."""
        found = [train.times[train.position(self.node)] for train in self.visits]
        return np.concatenate([found[0][self._gone :], *found[1:]]) if found else np.zeros(0, np.int64)

    def _takers(self) -> Iterator[tuple[PacketTrain, int, int]]:
        """The trains with the place of their first row, counted from the next one that is taken, and their position."""
        first = -self._gone
        for train in self.visits:
            yield train, first, train.position(self.node)
            first += train.rows

    def _let(self, covered: int, since: int) -> bool:
        """Rows that stood here may be taken now; whether there are any."""
        found = self._first_stood(since)
        for train, first, position in self._takers():
            ready = train.takers.get(position)
            if ready is not None and (ready == NEVER).any():
                own = np.arange(first, first + train.rows)
                ready[(own < covered) & (ready == NEVER)] = since
                ready[(own >= covered) & (ready == NEVER)] = 0
                train.stale = found = True
        return found

    def _first_stood(self, since: int) -> bool:
        """Whether the next row stood here without a place at the next stop, and before ``since`` without a receiver."""
        if not self.visits:
            return False
        train = self.visits[0]
        position = train.position(self.node)
        if position == train.reach or train.arrival(position, self._gone) >= since:
            return False
        ready = train.takers.setdefault(position, np.zeros(train.rows, np.int64))
        if ready[self._gone] >= since:
            return False
        ready[self._gone] = since
        train.stale = True
        return True

    def _stop_at(self, row: int) -> None:
        """Nobody is there to take rows from ``row`` on."""
        for train, first, position in self._takers():
            if first + train.rows > row:
                ready = train.takers.setdefault(position, np.zeros(train.rows, np.int64))
                ready[max(row - first, 0) :] = NEVER
                train.stale = True

    def _hand_over(self) -> None:
        post, self._post = self._post, None
        assert post is not None
        post.event.succeed(Taken(post.cycles, self._rows(post.rows)))

    def _rows(self, count: int) -> Bytes:
        """The next rows, which have been taken."""
        found: list[Bytes] = []
        while count:
            train = self.visits[0]
            end = min(train.rows, self._gone + count)
            found.append(train.rows_of(self._gone, end))
            count -= end - self._gone
            self._gone = end
            if end == train.rows:
                self.visits.pop(0)
                self._gone = 0
        return joined(found)
