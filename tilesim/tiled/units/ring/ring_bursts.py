"""The data ring in bursts: transfers as trains of packets, planned together, as long as no two can meet.

What happens on the ring is that of :mod:`~tilesim.tiled.units.ring.ring`, cycle by cycle; here it is worked out a
transfer at a time. Where a packet of one transfer could come between two of another that can't be, and packets have to
tell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import simpy

from tilesim.sim.core.clock import Clock, Phase
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.ring.announcement import Announcement, Unforeseen
from tilesim.tiled.units.ring.burst_stop import BurstStop
from tilesim.tiled.units.ring.journey import Journey
from tilesim.tiled.units.ring.packet_train import PacketTrain, TrainTiming


class BurstRing:
    """All stops of the ring, and the trains that have packets on it or will have, those that pass first first.

    A train is planned in the arbitrate phase of the cycle in which it is released, as if every receiver were there in
    time; one that is not makes the stop a place where packets wait, found out in the cycle in which the first of them
    comes, and everything is planned again.
    """

    def __init__(self, clock: Clock, topology: Topology, link: Callable[[int], Unit]) -> None:
        self.clock = clock
        self.row_cycles = topology.ring_row_cycles
        self._hop_cycles = topology.ring.hop_cycles
        self.stops = [BurstStop(self, node, link(node)) for node in range(topology.tiles + 3)]
        self._journeys: list[Journey] = []
        self._entering: list[Journey] = []
        self._touched: dict[int, list[BurstStop]] = {}

    @property
    def busy(self) -> bool:
        """Whether there are packets on their way."""
        return bool(self._journeys)

    def send(
        self, node: int, label: str, to: int, rows: int, fetch_cycles: int = 0, reads: Announcement | None = None
    ) -> Journey:
        """Begin to send ``rows`` from ``node`` to the stops in the bitmap ``to``; fetching each takes ``fetch_cycles``,
        with an access of ``reads`` at their end.
        """
        timing = TrainTiming(fetch_cycles, self.row_cycles, self._hop_cycles)
        train = PacketTrain(label, node, to, rows, len(self.stops), timing)
        return Journey(self.clock, train, reads, self._release, self._pass)

    def _release(self, journey: Journey) -> None:
        if journey not in self._journeys:
            self._entering.append(journey)
        self.touch()

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
        train.plan(self.clock.cycle)
        others = [other.train for other in self._journeys]
        meeting = [other for other in others if train.shares(other)]
        train.ahead = [other for other in meeting if _first(other, train)]
        behind = [other for other in meeting if other not in train.ahead]
        place = min((others.index(other) for other in behind), default=len(others))
        if any(others.index(other) > place for other in train.ahead):
            raise Unforeseen
        for other in behind:
            other.ahead.append(train)
            other.stale = True
        train.forget()
        self._journeys.insert(place, journey)
        for position in train.destinations:
            self._stop(train, position).expect(train, others[place:])

    def _arbitrate(self, _: simpy.Event) -> None:
        now = self.clock.cycle
        touched = set(self._touched.pop(now)) | self._plan()
        for journey in sorted(self._entering, key=lambda each: each.train.node):
            self._enter(journey)
            touched |= self._plan()
        self._entering = []
        while touched:
            touched = {stop for stop in touched if not stop.settle(now)}
            touched |= self._plan()

    def _plan(self) -> set[BurstStop]:
        """Plan the trains for which anything has changed, and those behind them; the stops at which they arrive."""
        found: set[BurstStop] = set()
        changed: set[PacketTrain] = set()
        for journey in self._journeys:
            train = journey.train
            if not (train.stale or any(other in changed for other in train.ahead)):
                continue
            if not train.plan(self.clock.cycle):
                journey.expect()  # rows that can't leave yet may be fetched
                continue
            changed.add(train)
            if not all(_apart(other, train) for other in train.ahead):
                raise Unforeseen
            found.update(self._stop(train, place) for place in train.destinations)
            journey.expect()
        return found

    def _pass(self, journey: Journey) -> None:
        """The last part of the tail has passed a stop in the cycle before."""
        train = journey.train
        heard = self._stop(train, journey.tail_at).on_tail
        journey.tail_at += 1
        if journey.tail_at > train.reach:
            self._journeys.remove(journey)
            self._book(train)
            train.ahead = []
        else:
            journey.expect()
        if heard is not None:
            heard()

    def _book(self, train: PacketTrain) -> None:
        """All packets of a train have been where they should."""
        row_bytes = train.data[0].shape[2]
        for place, start, end in train.held():
            self._stop(train, place).link.tally(Reason.CREDIT.kind, train.label, np.array([start]), end - start)
        for place in range(train.reach):
            self._stop(train, place).link.tally(BUSY, train.label, train.times[place], self.row_cycles, row_bytes)

    def _stop(self, train: PacketTrain, place: int) -> BurstStop:
        return self.stops[(train.node + place) % len(self.stops)]


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
