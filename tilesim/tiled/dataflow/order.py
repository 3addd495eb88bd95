"""When effects are carried out: all tiles of an instruction at once, as soon as nobody is in the way.

An effect may come later than its instruction retires, as long as nobody on its tile who touches its bytes comes in
between; so it waits for its instruction to retire everywhere. Where two instructions wait for each other on different
tiles, the one that retired first is carried out for those tiles where it can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress, pairwise
from math import isqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.ragged import ranges
from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.dataflow.senders import Senders
from tilesim.tiled.flat.tables import Numbers

Tiles: TypeAlias = NDArray[np.bool_]
NOT_YET = np.iinfo(np.int32).max
AT_ONCE = 1 << 20
"""Pairs of effects, times tiles, that are compared at once."""
MOST_WAITING = 3
"""Times the square root of the number of tiles: how many whole effects may wait for others before the first one no
longer does. With many tiles it pays to wait longer.
"""


class Refused(Exception):
    """Nothing tells in which order effects come: ``why``, of the instruction at ``place``."""

    def __init__(self, place: int, why: str) -> None:
        super().__init__(f"the instruction at {place} {why}")
        self.place, self.why = place, why


Turn: TypeAlias = tuple[int, Sequence[int], int, int]
"""Iterations of an instruction that are carried out at once: its place, tiles, from which to which."""


class Order:
    """Carries pieces out; ``shape`` says how many instructions there are, on how many tiles."""

    def __init__(self, meetings: Meetings, carry: Callable[[Turn], None], shape: tuple[int, int]) -> None:
        self.meetings, self.carry = meetings, carry
        self.done = np.zeros(shape, np.int64)
        """Up to which iteration each instruction is carried out on each tile."""

    def follow(self, pieces: Numbers, senders: Senders) -> None:
        """Carry out all pieces of a section, one a row; ``senders`` say what they take of what others send.

        Raises:
            Refused: see there.
        """
        if len(pieces):
            _Section(self, pieces, senders).carry_out()


class _Section:
    """The pieces of a section as effects, which have numbers: pieces of an instruction that come to the same end, on
    all tiles where they are not yet carried out. They are numbered as they begin, on any tile.
    """

    def __init__(self, order: Order, pieces: Numbers, senders: Senders) -> None:
        self._order, self._clashes = order, order.meetings.clashes
        span = pieces[:, 2].max() + 1
        codes, which = np.unique(pieces[:, 0] * span + pieces[:, 2], return_inverse=True)  # rows take ten times as long
        ends = np.stack(np.divmod(codes, span), axis=1)
        when = np.full((len(ends), order.done.shape[1]), NOT_YET, np.int32)
        when[which.reshape(-1), pieces[:, 1]] = np.arange(len(pieces))
        begins = np.argsort(when.min(axis=1))
        self._when = when[begins]
        """By effect and tile, as places among the pieces; :data:`NOT_YET` where there is nothing to be carried out."""
        effects, tiles = np.nonzero(self._when < NOT_YET)
        self._tiles: Numbers = tiles.copy()  # which is a view of both
        """Of all effects, one after the other, all tiles on which they are to be carried out."""
        self._from = np.searchsorted(effects, np.arange(len(ends) + 1)).tolist()
        """Where those of each begin."""
        self._left = [end - begin for begin, end in pairwise(self._from)]
        """On how many tiles each is to be carried out yet."""
        self._places, self._ends = places, upto = ends[begins].T
        self._place, self._end = places.tolist(), upto.tolist()
        self._own = np.where(self._when < NOT_YET, self._when, -1)
        """As ``_when``, but with -1 where there is nothing to be carried out."""
        self._first, self._last = self._when.min(axis=1), self._own.max(axis=1)
        """When each is through on the first of its tiles, and on the last."""
        self._soonest = self._first.copy()
        """Likewise on the first of those where it is to be carried out yet."""
        self._sooner = self._overtaking()
        """For each effect those that may be in its way, are through before it on some tile, and later than its last on
        their last one.
        """
        taker, *needs = senders.needs(places[effects], self._tiles, upto[effects]).T
        self._needs: Numbers = np.stack([self._tiles[taker], *needs], axis=1)
        """What effects take that others send: the tile that takes, an instruction, its tile, up to which iteration."""
        self._needs_from = np.searchsorted(effects[taker], np.arange(len(ends) + 1)).tolist()
        """Where those of each begin."""
        self._begun = range(0)
        """Those that have begun, and a few that are over."""
        self._over = bytearray(len(ends))
        """Whether each is carried out everywhere."""
        self._held: dict[int, set[int]] = {}
        """Effects that are whole, and those that each of them waits for."""
        self._behind: dict[int, list[int]] = defaultdict(list)
        """The other way round."""

    def carry_out(self) -> None:
        """Carry out all of them: each when it is through on all its tiles, or when nobody is in its way any longer."""
        begun = np.searchsorted(self._first, self._last, "right").tolist()
        most_waiting = MOST_WAITING * isqrt(self._when.shape[1])
        order, tiles = np.argsort(self._last), self._tiles.tolist()
        free, passed = self._free_in(order).tolist(), list[int]()
        for effect in order.tolist():
            begin, end = self._from[effect : effect + 2]
            if free[effect] and not self._held and self._left[effect] == end - begin:
                self._order.carry((self._place[effect], tiles[begin:end], 0, self._end[effect]))
                passed.append(effect)
                continue
            self._pass(passed)
            self._begun = range(self._oldest(), max(begun[effect], self._begun.stop))
            self._hold(effect)
            if len(self._held) > most_waiting:
                self._begin_somewhere(self._last[effect])
        self._pass(passed)
        while (oldest := self._oldest()) < self._begun.stop:
            if not self._begin_somewhere(NOT_YET - 1):
                raise Refused(
                    self._place[oldest], "takes a part of what another instruction sends, whose rest depends on it"
                )

    def _free_in(self, order: Numbers) -> NDArray[np.bool_]:
        """For each effect whether nobody is in its way, and it is all of its instruction, if those before it in an
        order are carried out.
        """
        rank, latest, reached = np.empty_like(order), np.full(len(self._order.done), -1), self._order.done.copy()
        rank[order] = np.arange(len(order))
        np.maximum.at(latest, self._places, rank)
        effects = np.repeat(np.arange(len(order)), self._left)
        np.maximum.at(reached, (self._places[effects], self._tiles), self._ends[effects])
        taker = np.repeat(np.arange(len(order)), np.diff(self._needs_from))
        _, sender, tile, end = self._needs.T
        free: NDArray[np.bool_] = np.bincount(self._places)[self._places] == 1
        free[[bool(sooner) for sooner in self._sooner]] = False
        free[taker[(reached[sender, tile] < end) | (latest[sender] >= rank[taker])]] = False
        return free

    def _pass(self, effects: list[int]) -> None:
        """All of some effects are carried out; then there are none left of them."""
        if not effects:
            return
        which, tiles = np.nonzero(self._when[effects] < NOT_YET)
        done = np.array(effects)[which]
        self._order.done[self._places[done], tiles] = self._ends[done]
        self._when[effects], self._own[effects], self._soonest[effects] = NOT_YET, -1, NOT_YET
        for effect in effects:
            self._over[effect], self._left[effect] = True, 0
        effects.clear()

    def _oldest(self) -> int:
        """The first that is not over."""
        return next((effect for effect in self._begun if not self._over[effect]), self._begun.stop)

    def _hold(self, effect: int) -> None:
        """Carry an effect out, unless somebody is in its way: then as soon as nobody is."""
        held = {*self._in_the_way(effect)}
        if not held:
            self._finish(effect, self._left_on(effect))
            return
        self._held[effect] = held
        for other in held:
            self._behind[other].append(effect)

    def _begin_somewhere(self, now: int) -> bool:
        """Carry out, wherever that can be, what is the first on one of its tiles; False if nothing can be."""
        begun = self._begun.start + np.flatnonzero(self._soonest[self._begun.start : self._begun.stop] < NOT_YET)
        left = begun[self._soonest[begun] <= now]
        others = begun.tolist()
        for effect in left[np.argsort(self._soonest[left])].tolist():
            free = (self._when[effect] <= now) & ~self._held_on(effect, others)
            if free.any():
                self._finish(effect, free.nonzero()[0])
                return True
        return False

    def _in_the_way(self, effect: int) -> Iterator[int]:
        """Those that must be carried out before it on some tile."""
        sooner = [other for other in self._sooner[effect] if not self._over[other] and other not in self._held]
        yield from self._before(effect, [*sooner, *self._held])
        for _, place, tile, end in self._lacks(effect).tolist():
            unsent = [other for other in self._of_place[place] if self._when[other, tile] < NOT_YET]
            short = sum(self._end[other] < end for other in unsent)
            yield from [*unsent, effect][: short + 1]  # itself, if it is never sent

    @cached_property
    def _of_place(self) -> Mapping[int, Sequence[int]]:
        """All effects of each instruction, in order."""
        found: dict[int, list[int]] = defaultdict(list)
        for effect in np.lexsort((self._ends, self._places)).tolist():
            found[self._place[effect]].append(effect)
        return found

    def _held_on(self, effect: int, begun: Sequence[int]) -> Tiles:
        """The tiles where somebody who has begun is in the way."""
        before = self._before(effect, begun)
        held: Tiles = (self._when[before] < self._when[effect]).any(axis=0)
        held[self._lacks(effect)[:, 0]] = True
        return held

    def _before(self, effect: int, others: Sequence[int]) -> list[int]:
        """Those of some others that are in its way, and through before it on some tile."""
        if not others:
            return []
        place, tiles = self._place[effect], self._tiles[slice(*self._from[effect : effect + 2])]
        if len(tiles) * 4 < self._when.shape[1]:  # as most have few, it takes half as long not to look at all of them
            sooner = self._when[np.array(others)[:, None], tiles] < self._own[effect, tiles]
        else:
            sooner = self._when[others] < self._own[effect]
        found = [*compress(others, sooner.any(axis=1).tolist())]
        return [*compress(found, self._clashes(place, [self._place[other] for other in found]))]

    def _overtaking(self) -> list[list[int]]:
        low = np.searchsorted(np.maximum.accumulate(self._last), self._last, "right")
        counts = np.searchsorted(self._first, self._last, "right") - low
        parts = np.cumsum(counts) * self._when.shape[1] // AT_ONCE
        found: list[list[int]] = []
        for effects in np.split(np.arange(len(low)), np.flatnonzero(np.diff(parts)) + 1):
            found += self._among(effects, low[effects], counts[effects])
        return found

    def _among(self, effects: Numbers, low: Numbers, counts: Numbers) -> Iterator[list[int]]:
        """Those of some effects, each among so many from ``low`` on."""
        later = np.repeat(effects, counts)
        other = ranges(low, counts)
        later, other = (many[self._last[other] > self._last[later]] for many in (later, other))
        clash = self._order.meetings.may_clash(self._places[later], self._places[other])
        later, other = later[clash], other[clash]
        sooner = (self._when[other] < self._own[later]).any(axis=1)
        ends, others = np.searchsorted(later[sooner], effects, "right").tolist(), other[sooner].tolist()
        return (others[start:end] for start, end in pairwise([0, *ends]))

    def _lacks(self, effect: int) -> Numbers:
        """The effect's needs that are not met: tile, instruction, its tile, and up to which iteration."""
        needs = self._needs[self._needs_from[effect] : self._needs_from[effect + 1]]
        if not len(needs):
            return needs
        own, place, tile, end = needs.T
        lacking = self._order.done[place, tile] < end
        if not np.count_nonzero(lacking):  # in a third of the time of any(), on few tiles
            return needs[:0]
        left: Numbers = needs[lacking & (self._when[effect, own] < NOT_YET)]
        return left

    def _left_on(self, effect: int) -> Numbers:
        """The tiles where it is to be carried out yet."""
        begin, end = self._from[effect : effect + 2]
        if self._left[effect] == end - begin:
            return self._tiles[begin:end]
        return np.flatnonzero(self._when[effect] < NOT_YET)

    def _finish(self, effect: int, tiles: Numbers) -> None:
        """Carry an effect out on some tiles, and then those for whom it was in the way."""
        left = self._carry(effect, tiles)
        while left:
            released = left.pop()
            if released in self._held:
                left += self._carry(released, self._left_on(released))

    def _carry(self, effect: int, tiles: Numbers) -> list[int]:
        """Carry an effect out on some tiles; those for whom nobody is in the way any longer."""
        place, end = self._place[effect], self._end[effect]
        if len(self._of_place[place]) == 1:
            self._order.carry((place, tiles.tolist(), 0, end))
            self._order.done[place][tiles] = end
        else:
            self._carry_on(place, tiles, end)
        self._left[effect] -= len(tiles)
        if self._left[effect]:
            self._when[effect, tiles], self._own[effect, tiles] = NOT_YET, -1
            self._soonest[effect] = self._when[effect].min()
            waiting = [other for other in self._behind[effect] if other in self._held]
            self._held.update((other, {*self._in_the_way(other)}) for other in waiting)
        else:
            self._when[effect], self._own[effect], self._soonest[effect] = NOT_YET, -1, NOT_YET
            self._over[effect] = True
            self._held.pop(effect, None)
            waiting = [other for other in self._behind.pop(effect, ()) if other in self._held]
            for other in waiting:
                self._held[other].discard(effect)
        return [other for other in waiting if not self._held[other]]

    def _carry_on(self, place: int, tiles: Numbers, end: int) -> None:
        """Carry an instruction out from where it is on each tile."""
        done = self._order.done[place, tiles]
        for first in {*done.tolist()}:
            if first < end:
                self._order.carry((place, tiles[done == first].tolist(), first, end))
        self._order.done[place, tiles] = np.maximum(done, end)
