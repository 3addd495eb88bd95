"""When effects are carried out: all tiles of an instruction at once, as soon as nobody is in the way.

An effect may come later than its instruction retires, as long as nobody on its tile who touches its bytes comes in
between; so it waits for its instruction to retire everywhere. Where two instructions wait for each other on different
tiles, the one that retired first is carried out for those tiles where it can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.dataflow.cuts import NOT_YET, Needs
from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.flat.tables import Numbers

Tiles: TypeAlias = NDArray[np.bool_]
MOST_WAITING = 48
"""So many whole effects may wait for others before the first one no longer does."""


class Refused(Exception):
    """The instruction at ``place`` takes a part of what another one sends, whose rest depends on it."""

    def __init__(self, place: int) -> None:
        super().__init__(f"the instruction at {place} takes a part of what another one sends, whose rest depends on it")
        self.place = place


Carry: TypeAlias = Callable[[int, Sequence[int], int, int], None]
"""Carries iterations of an instruction out: its place, tiles, from which to which."""


class Effect:
    """A piece of an instruction on the tiles where it is not yet carried out, and when it is through there."""

    def __init__(self, place: int, end: int, when: Numbers) -> None:
        self.place, self.end = place, end
        self.when = when
        """By tile; :data:`NOT_YET` where there is nothing to be carried out."""
        self.needs: Numbers | None = None
        self.behind: list[Effect] = []
        """Those for whom it is in the way."""
        self.look()

    def look(self) -> None:
        """See what is left."""
        self.there: Tiles = self.when < NOT_YET
        self.is_left = bool(self.there.any())
        self.first = int(self.when.min())
        self.last = int(self.when.max(where=self.there, initial=-1))


class Order:
    """Carries pieces out; ``needs`` says what a piece takes of what others send, ``shape`` how many instructions there
    are, on how many tiles.
    """

    def __init__(self, meetings: Meetings, needs: Needs, carry: Carry, shape: tuple[int, int]) -> None:
        self._meetings, self._needs, self._carry = meetings, needs, carry
        self._begun: dict[Effect, None] = {}
        self._whole: dict[Effect, None] = {}
        self._done = np.zeros(shape, np.int64)
        self._lacking: dict[int, list[Effect]] = defaultdict(list)
        """Those who take what the instruction at a place has not yet sent."""

    def follow(self, pieces: Numbers) -> None:
        """Carry out all pieces of a section, one a row."""
        effects = _effects(pieces, self._done.shape[1])
        later = sorted(effects, key=attrgetter("first"), reverse=True)
        for effect in sorted(effects, key=attrgetter("last")):
            while later and later[-1].first <= effect.last:
                self._begun[later.pop()] = None
            now = effect.last
            self._whole[effect] = None
            self._settle([effect])
            if len(self._whole) > MOST_WAITING:
                self._begin_somewhere(now)
        while self._begun:
            if not self._begin_somewhere(NOT_YET):
                raise Refused(next(iter(self._begun)).place)

    def _settle(self, effects: Iterable[Effect]) -> None:
        """Carry out those of some effects that nobody is in the way of, and then those for whom they were."""
        left = [*effects]
        while left:
            effect = left.pop()
            if effect in self._whole and effect.is_left and not self._is_held(effect):
                left += self._finish(effect, effect.there)

    def _begin_somewhere(self, now: int) -> bool:
        """Carry out, wherever that can be, what is the first on one of its tiles; False if nothing can be."""
        for effect in sorted(self._begun, key=attrgetter("first")):
            free = (effect.when <= now) & effect.there & ~self._held(effect)
            if free.any():
                self._settle(self._finish(effect, free))
                return True
        return False

    def _is_held(self, effect: Effect) -> bool:
        """Whether somebody is in the way anywhere; who is remembers it."""
        for other in self._before(effect):
            if self._meetings.clash(other.place, effect.place):
                other.behind.append(effect)
                return True
        lacking = self._lacks(effect)
        if lacking.any():
            assert effect.needs is not None
            self._lacking[int(effect.needs[lacking.argmax(), 1])].append(effect)
        return bool(lacking.any())

    def _before(self, effect: Effect) -> list[Effect]:
        """Those that have begun, and are through before it on some tile."""
        begun = [*self._begun]
        before = np.array([other.when for other in begun]) < np.where(effect.there, effect.when, -1)
        return [begun[k] for k in np.flatnonzero(before.any(axis=1)).tolist()]

    def _held(self, effect: Effect) -> Tiles:
        """The tiles where somebody is in the way."""
        when = np.where(effect.there, effect.when, -1)
        held = np.zeros(len(when), bool)
        for other in self._before(effect):
            if self._meetings.clash(other.place, effect.place):
                held |= other.when < when
        lacking = self._lacks(effect)
        if lacking.any():
            assert effect.needs is not None
            held[effect.needs[lacking, 0]] = True
        return held

    def _lacks(self, effect: Effect) -> Tiles:
        """Which of the effect's needs are not met: tile, instruction, its tile, and up to which iteration."""
        if effect.needs is None:
            effect.needs = self._needs(effect.place, np.flatnonzero(effect.there), effect.end)
        own, place, tile, end = effect.needs.T
        lacks: Tiles = effect.there[own] & (self._done[place, tile] < end)
        return lacks

    def _finish(self, effect: Effect, free: Tiles) -> list[Effect]:
        """Carry an effect out on some tiles; for whom it was in the way."""
        done = self._done[effect.place]
        for first in np.unique(done[free]).tolist():
            if first < effect.end:
                tiles = np.flatnonzero(free & (done == first)).tolist()
                self._carry(effect.place, tiles, first, effect.end)
        done[free] = np.maximum(done[free], effect.end)
        effect.when = np.where(free, NOT_YET, effect.when)
        effect.look()
        if not effect.is_left:
            self._whole.pop(effect, None)
            del self._begun[effect]
        released, effect.behind = effect.behind, []
        return released + self._lacking.pop(effect.place, [])


def _effects(pieces: Numbers, tiles: int) -> list[Effect]:
    """What happens to all tiles of an instruction; ``when`` are places among the pieces."""
    ends, which = np.unique(pieces[:, [0, 2]], axis=0, return_inverse=True)
    when = np.full((len(ends), tiles), NOT_YET)
    when[which.reshape(-1), pieces[:, 1]] = np.arange(len(pieces))
    return [Effect(place, end, own) for (place, end), own in zip(ends.tolist(), when, strict=True)]
