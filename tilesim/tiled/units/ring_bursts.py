"""The data ring in bursts: transfers as trains of packets, planned together, as long as no two can meet.

What happens on the ring is that of :mod:`~tilesim.tiled.units.ring`, cycle by cycle; here it is worked out a transfer
at a time. Where a packet of one transfer could come between two of another that can't be, and packets have to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy

from tilesim.sim.alarm import Alarm
from tilesim.sim.arbiter import Arbiter
from tilesim.sim.clock import Clock, Phase
from tilesim.sim.memory import Bytes
from tilesim.sim.pipe import Slot
from tilesim.sim.unit import BUSY, Reason, Unit
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.memories import WideRank
from tilesim.tiled.units.packet_train import NEVER, UNKNOWN, Cycles, PacketTrain

Work = Generator[simpy.Event, Any, None]

RING_CLIENTS = (WideRank.RING_COMMIT, WideRank.RING_PRODUCER)


class Unforeseen(Exception):
    """What comes of this only packets can tell."""


@dataclass(frozen=True)
class Taken:
    """Rows that a receiver has taken off the ring, (samples or 1, rows, row bytes), and when each."""

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
    :class:`~tilesim.tiled.units.ring.RingStop`.
    """

    def __init__(self, ring: BurstRing, node: int, link: Unit) -> None:
        self.node = node
        self.link = link
        self.on_tail: Callable[[], None] | None = None
        self.commits: Announcement | None = None
        self.ring = ring
        self.visits: list[PacketTrain] = []
        self._gone = 0
        self._post: _Post | None = None
        self._alarm = Alarm(ring.clock, self._hand_over)

    def post(self, rows: int, commits: bool = False) -> simpy.Event:
        """Take the next ``rows`` from this cycle on, one a cycle; the event, in the cycle after the last one, brings
        what was :class:`Taken`. ``commits``: each makes an access.
        """
        self._post = _Post(rows, self.ring.clock.cycle, self.ring.clock.event(), commits)
        self.ring.touch(self)
        return self._post.event

    def send(self, label: str, to: int, rows: int, fetch_cycles: int = 0, reads: Announcement | None = None) -> Journey:
        """Begin to send ``rows``; fetching each takes ``fetch_cycles``, with an access of ``reads`` at their end."""
        train = PacketTrain(label, self.node, to, rows, fetch_cycles + 1, len(self.ring.stops), self.ring.hop_cycles)
        return self.ring.journey(train, reads)

    def transmit(self, unit: Unit, journey: Journey, data: Bytes, come: Cycles | None = None) -> Work:
        """Send the next rows, (samples or 1, rows, row bytes), of which each can be fetched from the cycle on in which
        it has ``come``, and account for ``unit``'s cycles until the one after the last has left.
        """
        begin, train = self.ring.clock.cycle, journey.train
        fetch_cycles = train.gap_cycles - 1
        rows = range(train.released, train.released + data.shape[1])
        ready = np.full(len(rows), begin + fetch_cycles) if come is None else np.maximum(come, begin) + fetch_cycles
        sent = self.ring.release(journey, ready, data)
        yield from unit.wait_on(sent, Reason.CREDIT, "the ring to take its packets")
        both = train.asked[rows.start : rows.stop], train.leaves[rows.start : rows.stop]
        _book_sent(unit, begin, fetch_cycles, *both, data.shape[2])

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
            self._alarm.set(int(cycles[covered - 1]) + 1 if complete else None)
            if self.commits is not None and self._post.commits:
                self.commits.tell(self._post.cycles[self._post.cycles < UNKNOWN])
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
                found = True
        return found

    def _first_stood(self, since: int) -> bool:
        """Whether the next row stood here without a place at the next stop and, before ``since``, without a receiver."""
        for train in self.visits[:1]:
            position = train.position(self.node)
            if position < train.reach and train.times[position - 1, self._gone] + self.ring.hop_cycles < since:
                ready = train.takers.setdefault(position, np.zeros(train.rows, np.int64))
                if ready[self._gone] < since:
                    ready[self._gone] = since
                    return True
        return False

    def _stop_at(self, row: int) -> None:
        """Nobody is there to take rows from ``row`` on."""
        for train, first, position in self._takers():
            if first + train.rows > row:
                ready = train.takers.setdefault(position, np.zeros(train.rows, np.int64))
                ready[max(row - first, 0) :] = NEVER

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
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


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
            self._arbiter.announce(self._slot, cycles.tolist())
            self._must_be_apart(now)

    def _must_be_apart(self, now: int) -> None:
        port, told = self._slot.port, {*self._told.tolist()}
        clients = (port.taken[rank] for rank in RING_CLIENTS if rank != self._slot.rank)
        others = [taken for taken in clients if port.capacity == 1 and taken.ends and taken.ends[-1] > now]
        if any(not told.isdisjoint(range(*span)) for taken in others for span in zip(*taken.since(now), strict=True)):
            raise Unforeseen


@dataclass
class Journey:
    """A train on the ring: its sender's request, and how far its tail has come."""

    train: PacketTrain
    left: Alarm
    passed: Alarm
    reads: Announcement | None
    sent: simpy.Event | None = None
    tail_at: int = 0


class BurstRing:
    """All stops of the ring, and the trains that have packets on it or will have, those that pass first first.

    A train is planned in the arbitrate phase of the cycle in which it is released, as if every receiver were there in
    time; one that is not makes the stop a place where packets wait, found out in the cycle in which the first of them
    comes, and everything is planned again.
    """

    def __init__(self, clock: Clock, topology: Topology, link: Callable[[int], Unit]) -> None:
        self.clock = clock
        self.hop_cycles = topology.ring.hop_cycles
        self.stops = [BurstStop(self, node, link(node)) for node in range(topology.tiles + 3)]
        self._journeys: list[Journey] = []
        self._touched: dict[int, list[BurstStop]] = {}
        self._stale = False

    @property
    def busy(self) -> bool:
        """Whether there are packets on their way."""
        return bool(self._journeys)

    def journey(self, train: PacketTrain, reads: Announcement | None) -> Journey:
        """Where a train will be."""
        journey = Journey(
            train, Alarm(self.clock, lambda: self._left(journey)), Alarm(self.clock, lambda: self._pass(journey)), reads
        )
        return journey

    def release(self, journey: Journey, ready: Cycles, data: Bytes) -> simpy.Event:
        """Send the next rows, (samples or 1, rows, row bytes), each from a cycle on; the event is in the cycle after
        the last one has left.
        """
        begins = not journey.train.released
        journey.train.release(ready, data)
        journey.sent = self.clock.event()
        if begins:
            self._enter(journey)
        self._stale = True
        self.touch()
        return journey.sent

    def touch(self, stop: BurstStop | None = None, cycle: int | None = None) -> None:
        """See in ``cycle`` (this one) whether all is as planned at ``stop``."""
        now = self.clock.cycle
        at = now if cycle is None else cycle
        if at not in self._touched:
            self._touched[at] = []
            self.clock.phase(Phase.ARBITRATE, at - now).callbacks.append(self._arbitrate)
        if stop is not None:
            self._touched[at].append(stop)

    def _enter(self, journey: Journey) -> None:
        """Put a train among the others, where it passes."""
        train = journey.train
        train.plan()
        others = [other.train for other in self._journeys]
        meeting = [other for other in others if train.shares(other)]
        train.ahead = [other for other in meeting if _first(other, train)]
        behind = [other for other in meeting if other not in train.ahead]
        place = min((others.index(other) for other in behind), default=len(others))
        if any(others.index(other) > place for other in train.ahead):
            raise Unforeseen
        for other in behind:
            other.ahead.append(train)
        self._journeys.insert(place, journey)
        for position in train.destinations:
            self._stop(train, position).expect(train, others[place:])

    def _arbitrate(self, _: simpy.Event) -> None:
        now = self.clock.cycle
        touched = self._touched.pop(now)
        while self._stale or touched:
            if self._stale:
                self._plan()
                touched = [stop for stop in self.stops if stop.visits]
            settled = [stop.settle(now) for stop in touched]
            self._stale, touched = not all(settled), []

    def _plan(self) -> None:
        for journey in self._journeys:
            train = journey.train
            train.plan()
            if not all(_apart(other, train) for other in train.ahead):
                raise Unforeseen
        for journey in self._journeys:
            self._expect(journey)

    def _expect(self, journey: Journey) -> None:
        """Wait for what comes next of a train."""
        train = journey.train
        if journey.sent is not None:
            left = int(train.leaves[train.released - 1])
            journey.left.set(left + 1 if left < UNKNOWN else None)
        if journey.reads is not None:
            asked = train.asked[: train.released]
            journey.reads.tell(asked[asked < UNKNOWN] - 1)
        self._await_tail(journey)

    def _await_tail(self, journey: Journey) -> None:
        tail = int(journey.train.times[journey.tail_at, -1])
        journey.passed.set(tail + 1 if tail < UNKNOWN else None)

    def _left(self, journey: Journey) -> None:
        sent, journey.sent = journey.sent, None
        assert sent is not None
        sent.succeed()

    def _pass(self, journey: Journey) -> None:
        """The tail has passed a stop in the cycle before."""
        train = journey.train
        heard = self._stop(train, journey.tail_at).on_tail
        journey.tail_at += 1
        if journey.tail_at > train.reach:
            self._journeys.remove(journey)
            self._book(train)
            train.ahead = []
        else:
            self._await_tail(journey)
        if heard is not None:
            heard()

    def _book(self, train: PacketTrain) -> None:
        """All packets of a train have been where they should."""
        row_bytes = train.data[0].shape[2]
        for place, start, end in train.held:
            self._stop(train, place).link.tally(Reason.CREDIT.kind, train.label, np.array([start]), end - start)
        for place in range(train.reach):
            self._stop(train, place).link.tally(BUSY, train.label, train.times[place], 1, row_bytes)

    def _stop(self, train: PacketTrain, place: int) -> BurstStop:
        return self.stops[(train.node + place) % len(self.stops)]


def _book_sent(unit: Unit, begin: int, fetch_cycles: int, asked: Cycles, leaves: Cycles, row_bytes: int) -> None:
    """Account for rows from cycle ``begin`` on: each is waited for, fetched, ``asked`` to be sent, and sent."""
    if unit.recording:
        for ask, leave in zip(asked.tolist(), leaves.tolist(), strict=True):
            unit.spend(Reason.HOST.kind, ask - fetch_cycles)
            unit.spend(BUSY, ask)
            unit.spend(Reason.CREDIT.kind, leave)
            unit.add(BUSY, 1, row_bytes)
        return
    busy, held = len(leaves) * (fetch_cycles + 1), int((leaves - asked).sum())
    unit.add(Reason.HOST.kind, int(leaves[-1]) + 1 - begin - busy - held)
    unit.add(Reason.CREDIT.kind, held)
    unit.add(BUSY, busy, len(leaves) * row_bytes)


def _first(one: PacketTrain, other: PacketTrain) -> bool:
    """Whether the train ``one`` passes before ``other``, which now comes in, wherever both do."""
    place = one.position(other.node)
    if place <= one.reach:
        if one.times[place, -1] <= other.ready[0]:
            return True
        if one.times[place, 0] > other.leaves[-1]:
            return False
        raise Unforeseen
    place = other.position(one.node)
    if one.leaves[-1] < other.times[place, 0]:
        return True
    if one.leaves[0] > other.times[place, -1]:
        return False
    raise Unforeseen


def _apart(first: PacketTrain, second: PacketTrain) -> bool:
    """Whether, as planned, no packet of either gets between two of the other at the stop where one of them begins."""
    place = first.position(second.node)
    if place <= first.reach and second.asked[0] < first.times[place, -1]:
        return False
    place = second.position(first.node)
    if not 0 < place <= second.reach:
        return True
    return second.arrival(place) > int(first.leaves[-1])
