"""Where an instruction's effect on a tile has to be carried out in pieces.

An effect that is carried out as a whole when the instruction retires is right for everybody who touches its bytes
earlier, or later. Somebody who retires while it works may have waited for its flag, and so for some of its iterations
and not for others: then these are cut off, as far as the flag had counted. Where both may have waited for each other,
both are cut wherever their flags rose.

Whether one may have waited for another is judged by flags, and by what had retired when it began: rather once too often.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tilesim.tiled.core.timing import Numbers
from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.flat.columns import EVENTS
from tilesim.tiled.isa.model.fields import Engine

BEGAN, RETIRED, ROSE = range(len(EVENTS))
OUT = [*Engine].index(Engine.MESH_OUT_NORTH)
NOT_YET = 1 << 62


@dataclass(frozen=True)
class Piece:
    """Iterations of the instruction at ``place`` up to ``end``, on a tile, are through; pieces come in order."""

    place: int
    tile: int
    end: int


@dataclass(frozen=True)
class Stay:
    """An instruction on a tile, from when to when: places in the log."""

    place: int
    began: int
    retired: int = NOT_YET


def in_order(events: Numbers) -> Numbers:
    """A section's log of what tiles do. Of one cycle, whatever leaves over the mesh has left before it arrives."""
    of_tiles = events[(events[:, 1] >= 0) & (events[:, 3] < len(Engine))]
    return of_tiles[np.lexsort((of_tiles[:, 3] < OUT, of_tiles[:, 0]))]


def pieces(events: Numbers, meetings: Meetings) -> list[Piece]:
    """What happens in a section, in order, cut where it must be; ``events`` are :func:`in_order`."""
    found: dict[int, Piece] = {}
    tiles = _Tiles(events, meetings)
    for number, (_, tile, place, _, what, _) in enumerate(events.tolist()):
        if what == BEGAN:
            tiles.begin(tile, place, number)
        elif what == RETIRED:
            for at, cut in tiles.retire(tile, place, number):
                found[at] = cut
            found[number] = Piece(place, tile, meetings.traits(place).rounds)
    return [found[number] for number in sorted(found)]


class _Tiles:
    """Who is at work on each tile, and has been."""

    def __init__(self, events: Numbers, meetings: Meetings) -> None:
        self._meetings = meetings
        self._working: dict[int, dict[int, int]] = defaultdict(dict)
        self._over: dict[int, list[Stay]] = defaultdict(list)
        self._rises: dict[tuple[int, int], list[tuple[int, int]]] | None = None
        self._events = events

    def begin(self, tile: int, place: int, number: int) -> None:
        self._working[tile][place] = number

    def retire(self, tile: int, place: int, number: int) -> Iterator[tuple[int, Piece]]:
        """The cuts that this asks for, by the places in the log at which their flags rose."""
        working, meetings = self._working[tile], self._meetings
        mine = Stay(place, working.pop(place), number)
        for other, began in working.items():
            if meetings.traits(other).rises_early and meetings.clash(place, other):
                yield from self._cut(tile, mine, Stay(other, began))
        self._over[tile].append(mine)

    def _cut(self, tile: int, mine: Stay, other: Stay) -> Iterator[tuple[int, Piece]]:
        theirs = [rise for rise in self._rises_of(tile, other.place) if rise[0] < mine.retired]
        if not theirs or not self._may_wait(tile, mine, other, theirs[0][0]):
            return
        own = [rise for rise in self._rises_of(tile, mine.place) if rise[0] < theirs[-1][0]]
        if not own or not self._may_wait(tile, other, mine, own[0][0]):
            yield theirs[-1][0], Piece(other.place, tile, theirs[-1][1])
            return
        for at, done in theirs:
            yield at, Piece(other.place, tile, done)
        for at, done in own:
            yield at, Piece(mine.place, tile, done)

    def _may_wait(self, tile: int, one: Stay, other: Stay, rose: int) -> bool:
        """Whether ``one`` may have waited for a flag that the ``other`` raised, from ``rose`` on."""
        traits = self._meetings.traits
        if one.began < rose and not traits(one.place).is_held:
            return False
        left = self._since(tile, rose)
        reached, seen = [one], {one.place, other.place}
        while reached:
            each = reached.pop()
            if traits(other.place).raises in traits(each.place).watches:
                return True
            for stay in left:
                earlier = stay.retired < each.began or traits(stay.place).raises in traits(each.place).watches
                if earlier and stay.place not in seen:
                    seen.add(stay.place)
                    reached.append(stay)
        return False

    def _since(self, tile: int, number: int) -> Sequence[Stay]:
        """Who has been at work on a tile since then."""
        over = self._over[tile]
        first = bisect_left(over, number, key=lambda stay: stay.retired)
        return [*over[first:], *(Stay(place, began) for place, began in self._working[tile].items())]

    def _rises_of(self, tile: int, place: int) -> Sequence[tuple[int, int]]:
        """When its flag rose there, and how many iterations were through."""
        if self._rises is None:
            self._rises = defaultdict(list)
            numbers = np.flatnonzero(self._events[:, 4] == ROSE)
            for number, (_, at, op, _, _, done) in zip(numbers.tolist(), self._events[numbers].tolist(), strict=True):
                self._rises[at, op].append((number, done))
        return self._rises.get((tile, place), ())
