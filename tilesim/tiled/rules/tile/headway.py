"""How far one instruction has surely come when the rounds of another begin, both on one tile.

A round that begins has its watchers behind it, so what raised their flags has done as many rounds as it takes to raise
them so far; and what those rounds had to wait for is over, too, by chains of any length.

So a tensorop may read the first lines of a map while a copy still brings the last ones, wide row by wide row: of each
piece of memory that both touch, the copy's last round that writes it must be among those that are done when the
tensorop's first round that reads it begins. A watcher that is content with one wide row less leaves the last piece of a
line in no order, and is refused.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from operator import itemgetter

import numpy as np
from msgspec import Struct

from tilesim.tiled.isa.model.loops import Gate
from tilesim.tiled.rules.tile.effects import Effects
from tilesim.tiled.rules.tile.happens_before import EXTERNAL, HappensBefore, TileStep
from tilesim.tiled.rules.tile.touches import Rounds, Use, common_unit

Points = list[tuple[int, int]]
"""Rounds of an instruction, from 0 on, and how many of another's are surely over when each begins."""

NOTHING: Points = [(0, 0)]


class Headway(Struct, frozen=True, dict=True):
    """From each of the rounds ``starts`` on so many rounds of the other instruction are surely ``done``, in
    ``points``.
    """

    points: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, points: Points) -> Headway:
        return cls(tuple(points))

    @cached_property
    def starts(self) -> Rounds:
        return np.array(self.points, np.int64)[:, 0]

    @cached_property
    def done(self) -> Rounds:
        return np.array(self.points, np.int64)[:, 1]

    def parts(self, ahead: Use, behind: Use) -> bool:
        """Whether ``ahead`` is through with each piece of memory when ``behind`` first touches it."""
        unit = common_unit(ahead, behind)
        low, end = max(ahead.footprint.first, behind.footprint.first), min(ahead.footprint.end, behind.footprint.end)
        last, first = ahead.last(unit, low, end), behind.first(unit, low, end)
        both = (last >= 0) & (first >= 0)
        return bool(np.all(last[both] < self.at(first[both])))

    def completes(self, ahead: TileStep) -> bool:
        """Whether all of the instruction ``ahead``, the other one, is over before the first round begins."""
        return bool(self.done[self.starts == 0].max() >= ahead.effects.firing.rounds)

    def at(self, rounds: Rounds) -> Rounds:
        """What is done when some rounds begin."""
        return self.done[np.searchsorted(self.starts, rounds, side="right") - 1]


def interleaved(one: Use, other: Use, of_one: Headway, of_other: Headway) -> bool:
    """Whether of any two rounds that touch the same piece of memory one is over when the other begins: it may be now a
    round of ``one`` and now a round of ``other``, as in a place that is filled and emptied again and again.
    """
    unit = common_unit(one, other)
    low, end = max(one.footprint.first, other.footprint.first), min(one.footprint.end, other.footprint.end)
    ones, others = one.all(unit, low, end), other.all(unit, low, end)
    if ones is None or others is None:
        return False
    many = one.rounds + 1
    touches = np.sort(ones[0] * many + ones[1])
    next_left = np.searchsorted(touches, others[0] * many + of_one.at(others[1]))
    left = np.append(touches, -1)[next_left]
    same = left // many == others[0]
    return bool(np.all(others[1][same] < of_other.at(left[same] % many)))


def watched(first: Effects, raised_to: int, then: Effects, strict: bool) -> Headway:
    """What the watchers of ``then`` that are on the flag of ``first``, which raises it to so much, tell of it."""
    done, points = 0, [(0, 0)]
    for gate in then.firing.gates:
        if gate.flag == first.flag:
            done = max(done, _raised(first, raised_to, gate.expected + strict))
            points.append((gate.group, done))
    return Headway.of(points)


def chained(order: HappensBefore, first: TileStep, then: TileStep) -> Headway:
    """What everything that comes before the rounds of ``then`` tells of ``first``, by all chains between the two."""
    among = order.listed(order.behind(then) | then.bit)
    behind = [step for step in among if step is then or order.behind(step) & (first.bit | order.never)]
    over = first.effects.firing.rounds
    known: dict[int, Points] = {step.number: [(0, over if step.before & first.bit else 0)] for step in behind}
    left, changed = [step for step in behind if not step.before & first.bit], True
    while changed:  # instructions may wait for later ones, and for one another row by row
        changed = False
        for step in left:
            points = list(_follow(order, first, step, known))
            changed |= points != known[step.number]
            known[step.number] = points
    return Headway.of(known[then.number])


def _follow(
    order: HappensBefore, first: TileStep, step: TileStep, known: Mapping[int, Points]
) -> Iterator[tuple[int, int]]:
    """The points of an instruction, by those that are known of the others on the chains."""
    done = max((known[other.number][-1][1] for other in step.over if other.number in known), default=0)
    yield 0, done
    for gate in step.effects.firing.gates:
        more = _when_met(order, first, gate, step, known)
        if more > done:
            done = more
            yield gate.group, done


def _when_met(order: HappensBefore, first: TileStep, gate: Gate, step: TileStep, known: Mapping[int, Points]) -> int:
    count = gate.expected + order.strict
    raiser = order.reaches(step, gate.flag, count)
    if raiser is None:
        never = count > 0 and gate.flag not in EXTERNAL  # a round that never begins touches nothing
        return first.effects.firing.rounds if never else 0
    rounds = _raised(raiser.effects, raiser.raised_to, count)
    if raiser is first:
        return rounds
    points = known.get(raiser.number, NOTHING)
    return points[bisect_right(points, rounds - 1, key=itemgetter(0)) - 1][1]


def _raised(effects: Effects, raised_to: int, count: int) -> int:
    """The rounds that an instruction, which raises its flag to so much, has done when that has counted to ``count``."""
    firing = effects.firing
    rises = count - (raised_to - effects.increments)
    if rises <= 0:
        return 0
    return firing.rises[rises - 1] if rises <= len(firing.rises) else firing.rounds
