"""Where an instruction's effect on a tile has to be carried out in pieces.

An effect that is carried out as a whole when the instruction retires is right for everybody who touches its bytes
earlier, or later. Somebody who retires while it works may have waited for its flag, and so for some of its iterations
and not for others: then these are cut off, as far as the flag had counted. Where both may have waited for each other,
both are cut wherever their flags rose.

Whether one may have waited for another is judged by flags, and by what had retired when it began: rather too often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import ceil

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.dataflow.senders import Senders
from tilesim.tiled.flat.columns import EVENTS
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.fields import Engine

BEGAN, RETIRED, ROSE = range(len(EVENTS))
OUT = [k for k, engine in enumerate(Engine) if engine.startswith("mesh_out")]
NOT_YET = np.iinfo(np.int32).max
NOWHERE = slice(0)
HALF = 0.5
"""Just before."""


class Piece(Struct, frozen=True):
    """Iterations of the instruction at ``place`` up to ``end``, on a tile, are through; pieces come in order."""

    place: int
    tile: int
    end: int


class Stay(Struct, frozen=True):
    """An instruction on a tile, from when to when: places in the log."""

    place: int
    began: int
    retired: float = NOT_YET


class Stays:
    """Who is when at work where in a section, by places in its log."""

    def __init__(self, events: Numbers, tiles: int) -> None:
        self.events = events
        shape = (events[:, 2].max(initial=-1) + 1, tiles)
        self.began, self.retired = np.full(shape, -1, np.int32), np.full(shape, NOT_YET, np.int32)
        for what, where in ((BEGAN, self.began), (RETIRED, self.retired)):
            [numbers] = np.nonzero(events[:, 4] == what)
            where[events[numbers, 2], events[numbers, 1]] = numbers
        self._on_tile: dict[int, Numbers] = {}

    def since(self, tile: int, number: float, now: int) -> Sequence[Stay]:
        """Who has been at work on a tile between ``number`` and ``now``."""
        if tile not in self._on_tile:
            [places] = np.nonzero(self.began[:, tile] >= 0)
            columns = np.stack([places, self.began[places, tile], self.retired[places, tile]])
            self._on_tile[tile] = columns.take(np.argsort(columns[2], kind="stable"), axis=1)  # rows in one piece
        _, began, retired = stays = self._on_tile[tile]
        first = int(retired.searchsorted(ceil(number)))
        found = stays[:, first:][:, began[first:] <= now].T
        return [Stay(*row) for row in found.tolist()]

    def stay(self, tile: int, place: int) -> Stay:
        return Stay(place, int(self.began[place, tile]), int(self.retired[place, tile]))

    def rises(self, tile: int, place: int) -> Sequence[tuple[int, int]]:
        """When the flag of an instruction rose on a tile, and how many iterations were through."""
        rises, where = self._rises
        return rises[where.get(place * self.began.shape[1] + tile, NOWHERE)]

    @cached_property
    def _rises(self) -> tuple[list[tuple[int, int]], dict[int, slice]]:
        """All of them, and where those of an instruction and a tile are."""
        [numbers] = np.nonzero(self.events[:, 4] == ROSE)
        codes = self.events[numbers, 2] * self.began.shape[1] + self.events[numbers, 1]
        order = np.argsort(codes, kind="stable")
        there, first = np.unique(codes[order], return_index=True)
        ends = [*first[1:].tolist(), len(order)]
        numbers = numbers[order]
        rises = [*zip(numbers.tolist(), self.events[numbers, 5].tolist(), strict=True)]
        return rises, dict(zip(there.tolist(), map(slice, first.tolist(), ends), strict=True))

    def meanwhile(self, kinds: Numbers) -> Numbers:
        """Retirements during which somebody else is at work on the tile, of those instructions that ``kinds`` tells: a
        place in the log, tile, instruction, the other one.
        """
        [retirements] = np.nonzero(self.events[:, 4] == RETIRED)
        tile, place = self.events[retirements, 1], self.events[retirements, 2]
        [begun] = np.nonzero((self.events[:, 4] == BEGAN) & kinds[self.events[:, 2]])
        found = [np.empty((0, 4), np.int64)]
        for engine in {*self.events[begun, 3].tolist()}:
            own = begun[self.events[begun, 3] == engine]
            codes = np.sort(self.events[own, 1] * len(self.events) + own)
            at = np.searchsorted(codes, tile * len(self.events) + retirements) - 1
            there, number = np.divmod(codes[at], len(self.events))
            other = self.events[number, 2]
            busy = (at >= 0) & (there == tile) & (self.retired[other, tile] > retirements) & (other != place)
            found.append(np.stack([retirements[busy], tile[busy], place[busy], other[busy]], axis=1))
        return np.concatenate(found)


def in_order(events: Numbers) -> Numbers:
    """A section's log of what tiles do. Of one cycle, whatever leaves over the mesh has left before it arrives."""
    [of_tiles] = ((events[:, 1] >= 0) & (events[:, 3] < len(Engine))).nonzero()
    leaves = np.isin(np.arange(len(Engine)), OUT)[events[of_tiles, 3]]
    return events[of_tiles[np.argsort(2 * events[of_tiles, 0] + ~leaves, kind="stable")]]


def pieces(events: Numbers, meetings: Meetings, senders: Senders) -> Numbers:
    """What happens in a section, in order, cut where it must be: pieces, one a row. ``events`` are :func:`in_order`,
    ``senders`` say what they take of what others send.
    """
    [retirements] = np.nonzero(events[:, 4] == RETIRED)
    tile, place = events[retirements, 1:3].T
    whole = np.stack([place, tile, meetings.rounds[place]], axis=1)
    cutter = _Cutter(Stays(events, senders.tiles), meetings, senders)
    cutter.cut()
    numbers = np.concatenate([[number for number, _ in cutter.found], retirements])
    cut = np.array([astuple(piece) for _, piece in cutter.found], np.int64).reshape(-1, 3)
    return np.concatenate([cut, whole])[np.argsort(numbers, kind="stable")]


class _Cutter:
    """Cuts off pieces."""

    def __init__(self, stays: Stays, meetings: Meetings, senders: Senders) -> None:
        self.found: list[tuple[float, Piece]] = []
        """Pieces, by their places in the log."""
        self._stays, self._meetings, self._senders = stays, meetings, senders
        self._cut_off: set[Piece] = set()
        self._now = 0

    def cut(self) -> None:
        """Cut what is under way whenever somebody retires who meets it, or takes some of it."""
        met: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for number, tile, place, other in self._clashing().tolist():
            met[number].append((tile, place, other))
        asked = dict(self._early())
        for number in sorted({*met, *asked}):
            self._now = number
            for tile, place, other in met[number]:
                began, others = (int(self._stays.began[each, tile]) for each in (place, other))
                self._part(tile, Stay(place, began, number), Stay(other, others))
            if number in asked:
                self._ask(asked[number], number)

    def _clashing(self) -> Numbers:
        """Those who are at work when somebody retires whose bytes they touch, and whose flag rises early."""
        found, count = self._stays.meanwhile(self._meetings.rises_early), len(self._meetings.rises_early)
        codes, pairs = np.unique(found[:, 2] * count + found[:, 3], return_inverse=True)
        one, other = np.divmod(codes, count) if len(codes) else (codes, codes)
        clashes = self._meetings.may_clash(one, other)
        clashes[clashes] = [*map(self._meetings.clash, one[clashes].tolist(), other[clashes].tolist())]
        return found[clashes[pairs]]

    def _early(self) -> Iterator[tuple[int, Piece]]:
        """When an instruction retires, where somebody is still at work of whose doing it takes some."""
        rows = self._senders.rows[:, [0, 1, 3, 4]]
        place, tile, sender, its_tile = rows[(rows[:, [0, 2]] < len(self._stays.retired)).all(axis=1)].T
        numbers, later = self._stays.retired[place, tile], self._stays.retired[sender, its_tile]
        early = (numbers < NOT_YET) & (later > numbers)
        for number, *own in np.stack([numbers, place, tile], axis=1)[early].tolist():
            yield number, Piece(own[0], own[1], int(self._meetings.rounds[own[0]]))

    def _ask(self, piece: Piece, number: float) -> None:
        """Cut what is under way of what a piece takes of others."""
        for place, tile, end in self._senders.needs_of(*astuple(piece)):
            stay = self._stays.stay(tile, place) if place < len(self._stays.began) else Stay(0, -1)
            if 0 <= stay.began <= self._now and stay.retired >= number:
                self._cut_at(number - HALF, Piece(place, tile, end), stay.began)

    def _cut_at(self, number: float, piece: Piece, began: int) -> None:
        """Iterations of an instruction that began then are through at that place in the log."""
        if piece in self._cut_off:
            return
        self._cut_off.add(piece)
        self.found.append((number, piece))
        self._ask(piece, number)
        mine = Stay(piece.place, began, number)
        for other in self._stays.since(piece.tile, number, self._now):
            if other.began < number and other.place != piece.place and self._meetings.rises_early[other.place]:
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
        theirs = [rise for rise in self._stays.rises(tile, other.place) if rise[0] < mine.retired]
        if not theirs or not self._may_wait(tile, mine, other, theirs[0][0]):
            return
        own = [rise for rise in self._stays.rises(tile, mine.place) if rise[0] < theirs[-1][0]]
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
        if traits(other.place).raises in traits(one.place).watches:
            return True
        left = self._stays.since(tile, rose, self._now)
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
