"""Where an instruction's effect on a tile has to be carried out in pieces.

An effect that is carried out as a whole when the instruction retires is right for everybody who touches its bytes
earlier, or later. Somebody who retires while it works may have waited for its flag, and so for some of its iterations
and not for others: then these are cut off, as far as the flag had counted. Where both may have waited for each other,
both are cut wherever their flags rose.

Whether one may have waited for another is judged by flags, and by what had retired when it began: rather too often.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.flat.columns import EVENTS
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.fields import Engine

BEGAN, RETIRED, ROSE = range(len(EVENTS))
OUT = [k for k, engine in enumerate(Engine) if engine.startswith("mesh_out")]
NOT_YET = 1 << 62
HALF = 0.5
"""Just before."""


@dataclass(frozen=True)
class Piece:
    """Iterations of the instruction at ``place`` up to ``end``, on a tile, are through; pieces come in order."""

    place: int
    tile: int
    end: int


class Need(NamedTuple):
    """Iterations of the instruction at ``place`` up to ``end`` on a tile, of which a piece takes what they send."""

    place: int
    tile: int
    end: int


Needs: TypeAlias = Callable[[Piece], Sequence[Need]]


@dataclass(frozen=True)
class Stay:
    """An instruction on a tile, from when to when: places in the log."""

    place: int
    began: int
    retired: float = NOT_YET


def in_order(events: Numbers) -> Numbers:
    """A section's log of what tiles do. Of one cycle, whatever leaves over the mesh has left before it arrives."""
    of_tiles = events[(events[:, 1] >= 0) & (events[:, 3] < len(Engine))]
    return of_tiles[np.lexsort((~np.isin(of_tiles[:, 3], OUT), of_tiles[:, 0]))]


def pieces(events: Numbers, meetings: Meetings, needs: Needs) -> list[Piece]:
    """What happens in a section, in order, cut where it must be; ``events`` are :func:`in_order`, ``needs`` says what a
    piece takes of what others send.
    """
    tiles = _Tiles(events, meetings, needs)
    for number, (_, tile, place, _, what, _) in enumerate(events.tolist()):
        if what == BEGAN:
            tiles.begin(tile, place, number)
        elif what == RETIRED:
            tiles.retire(tile, place, number)
    return [piece for _, piece in sorted(tiles.found, key=itemgetter(0))]


class _Tiles:
    """Who is at work on each tile, and has been."""

    def __init__(self, events: Numbers, meetings: Meetings, needs: Needs) -> None:
        self.found: list[tuple[float, Piece]] = []
        """Pieces, by their places in the log."""
        self._meetings, self._needs = meetings, needs
        self._working: dict[int, dict[int, int]] = defaultdict(dict)
        self._over: dict[int, list[Stay]] = defaultdict(list)
        self._rises: dict[tuple[int, int], list[tuple[int, int]]] | None = None
        self._events = events
        self._cut_off: set[Piece] = set()

    def begin(self, tile: int, place: int, number: int) -> None:
        self._working[tile][place] = number

    def retire(self, tile: int, place: int, number: int) -> None:
        mine = Stay(place, self._working[tile].pop(place), number)
        whole = Piece(place, tile, self._meetings.traits(place).rounds)
        for other, began in self._working[tile].items():
            if self._meetings.traits(other).rises_early:
                self._part(tile, mine, Stay(other, began))
        self._over[tile].append(mine)
        self._ask(whole, number)
        self.found.append((number, whole))

    def _ask(self, piece: Piece, number: float) -> None:
        """Cut what is under way of what a piece takes of others."""
        for need in self._needs(piece):
            began = self._working[need.tile].get(need.place)
            if began is None:
                over = (stay for stay in reversed(self._over[need.tile]) if stay.place == need.place)
                stay = next(over, None)
                if stay is None or stay.retired < number:
                    continue
                began = stay.began
            self._cut_at(number - HALF, Piece(need.place, need.tile, need.end), began)

    def _cut_at(self, number: float, piece: Piece, began: int) -> None:
        """Iterations of an instruction that began then are through at that place in the log."""
        if piece in self._cut_off:
            return
        self._cut_off.add(piece)
        self.found.append((number, piece))
        self._ask(piece, number)
        mine = Stay(piece.place, began, number)
        for other in self._since(piece.tile, number):
            if other.began < number and other.place != piece.place and self._meetings.traits(other.place).rises_early:
                self._part(piece.tile, mine, other)

    def _part(self, tile: int, mine: Stay, other: Stay) -> None:
        """Cut what may have to come in between of two instructions, the other of which is still at work, and whose flag
        rises meanwhile.
        """
        if self._meetings.clash(mine.place, other.place):
            for number, place, done, began in self._cuts(tile, mine, other):
                self._cut_at(number, Piece(place, tile, done), began)

    def _cuts(self, tile: int, mine: Stay, other: Stay) -> Iterator[tuple[int, int, int, int]]:
        """Places in the log, instructions, how far they are, and when they began."""
        theirs = [rise for rise in self._rises_of(tile, other.place) if rise[0] < mine.retired]
        if not theirs or not self._may_wait(tile, mine, other, theirs[0][0]):
            return
        own = [rise for rise in self._rises_of(tile, mine.place) if rise[0] < theirs[-1][0]]
        if not own or not self._may_wait(tile, other, mine, own[0][0]):
            yield theirs[-1][0], other.place, theirs[-1][1], other.began
            return
        yield from ((at, other.place, done, other.began) for at, done in theirs)
        yield from ((at, mine.place, done, mine.began) for at, done in own)

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

    def _since(self, tile: int, number: float) -> Sequence[Stay]:
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
