"""What is surely over before each instruction starts, on all tiles at once: of each engine so many instructions.

Buffers keep order, so that a number for each engine says it all. What :mod:`happens_before` follows to and fro is
followed forwards here: where an instruction waits for a later one, or for what never comes, or where a fence resets a
flag too early, the tile is in ``doubt``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.tiled.isa.model.tile_sets import tile_rows
from tilesim.tiled.rules.tile.happens_before import EXTERNAL, RING_ROLES
from tilesim.tiled.rules.tile.instances import ENGINES, FLAGS, NONE, Fence, Instances, Numbers

_OUTSIDE = np.array([flag in EXTERNAL for flag in FLAGS])


class _Waits(Struct, frozen=True):
    """Watchers of instances: whose, on which flag, for which counts, whether in a loop, and which of the instruction's
    it is.
    """

    instance: Numbers
    flag: Numbers
    first: Numbers
    last: Numbers
    loops: NDArray[np.bool_]
    place: Numbers

    @classmethod
    def of(cls, instances: Instances) -> _Waits:
        listed = [
            (k, FLAGS[wait.watcher.flag], wait.first, wait.last, wait.watcher.loop is not None, place)
            for k, work in enumerate(instances.works)
            for place, wait in enumerate(work.waits)
        ]
        op, flag, first, last, loops, place = np.array(listed, np.int64).reshape(-1, 6).T
        counts = instances.starts[op + 1] - instances.starts[op]
        ends = np.cumsum(counts)
        instance = np.arange(counts.sum()) + np.repeat(instances.starts[op] - (ends - counts), counts)
        flag, first, last, loops, place = (np.repeat(each, counts) for each in (flag, first, last, loops, place))
        return cls(instance, flag, first, last, loops.astype(bool), place)


class Clocks:
    """The order of ``instances`` between ``fences``; ``shared``: whether both roles on the ring have one buffer."""

    def __init__(self, instances: Instances, fences: Sequence[Fence], shared: bool) -> None:
        self.instances, self._shared = instances, shared
        self.doubt = np.zeros(instances.tiles, bool)
        """Tiles on which it isn't told."""
        self._generations: dict[int, NDArray[np.int32]] = {}
        self._drained, self._resets = self._followed(fences)
        places = [fence.place for fence in fences]
        self._epochs = np.searchsorted(places, np.arange(len(instances.works)), side="right")
        """How many fences are in front of each instruction."""
        self._direct, self._meanwhile = self._links(_Waits.of(instances))

    def generation(self, flag: int) -> NDArray[np.int32]:
        """How often a flag had been reset when each instance was issued."""
        if flag not in self._generations:
            chosen = self.instances
            self._generations[flag] = self._resets[self._epochs[chosen.op], chosen.tile, flag]
        return self._generations[flag]

    @cached_property
    def raised(self) -> Numbers:
        """What the flag of each instance has counted to when it has completed."""
        order, groups = self._by_flag
        rises = np.array([work.increments for work in self.instances.works], np.int64)[self.instances.op[order]]
        sums, first = np.cumsum(rises), np.searchsorted(groups, groups)
        raised = np.empty(len(order), np.int64)
        raised[order] = sums - (sums - rises)[first]
        return raised

    @cached_property
    def flag(self) -> Numbers:
        """The flag of each instance."""
        flags = np.array([FLAGS[work.flag] for work in self.instances.works], np.int64)
        return flags[self.instances.op]

    @cached_property
    def before(self) -> NDArray[np.int32]:
        """How many instructions of each engine of the tile are over before each starts."""
        instances, count = self.instances, len(self.instances)
        before = self._drained[self._epochs[instances.op], instances.tile]
        through = np.zeros((count + 1, len(ENGINES)), np.int32)
        place, own = np.arange(count), (instances.rank + 1).astype(np.int32)
        for start, end in self._independent():
            known = before[start:end]
            for links in self._direct:
                np.maximum(known, through[links[start:end]], out=known)
            over = through[start:end]
            over[:] = known
            for links in self._meanwhile:
                np.maximum(over, through[links[start:end]], out=over)
            through[place[start:end], instances.engine[start:end]] = own[start:end]
        return before

    def _independent(self) -> Sequence[tuple[int, int]]:
        """Stretches of instances that do not wait for one another."""
        starts, latest = self.instances.starts[:-1], np.full(len(self.instances), NONE)
        for links in (*self._direct, *self._meanwhile):
            np.maximum(latest, np.where(links < len(latest), links, NONE), out=latest)
        needs = np.maximum.reduceat(latest, starts).tolist()
        begins: list[int] = []
        for start, need in zip(starts.tolist(), needs, strict=True):
            if not begins or need >= begins[-1]:
                begins.append(start)
        return list(zip(begins, [*begins[1:], len(latest)], strict=True))

    def _followed(self, fences: Sequence[Fence]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Behind each fence, and in front of the first: how many instructions of each engine of each tile are over, and
        how often each flag has been reset.
        """
        instances, tiles = self.instances, self.instances.tiles
        issued, drained = np.zeros((2, tiles, len(ENGINES)), np.int32)
        resets = np.zeros((tiles, len(FLAGS)), np.int32)
        all_drained, all_resets, at = [drained.copy()], [resets.copy()], 0
        for fence in fences:
            for engine in set(instances.engines[at : fence.place].tolist()):
                issued[:, engine] += instances.rows[at : fence.place][
                    instances.engines[at : fence.place] == engine
                ].sum(0)
            at, [held] = fence.place, tile_rows([fence.tiles], tiles)
            idle, reset = [ENGINES[engine] for engine in fence.idle], [FLAGS[flag] for flag in fence.reset]
            drained[np.ix_(held, idle)] = issued[np.ix_(held, idle)]
            if reset:
                resets[np.ix_(held, reset)] += 1
                self.doubt |= held & (drained < issued).any(1)
            all_drained.append(drained.copy())
            all_resets.append(resets.copy())
        return np.array(all_drained), np.array(all_resets)

    @cached_property
    def _by_flag(self) -> tuple[Numbers, Numbers]:
        """The instances flag by flag, tile by tile, from reset to reset, in order; and numbers for these groups."""
        groups = self._group(np.arange(len(self.instances)), self.flag)
        order = np.argsort(groups, kind="stable")
        return order, groups[order]

    def _group(self, instances: Numbers, flags: Numbers) -> Numbers:
        most, tiles = len(self._resets), self.instances.tile[instances]
        generations = self._resets[self._epochs[self.instances.op[instances]], tiles, flags]
        return (flags * self.instances.tiles + tiles) * most + generations

    def _reaches(self, waits: _Waits, counts: Numbers) -> Numbers:
        """Who raises the flags to some counts in the time in which they may be watched, or NONE."""
        order, groups = self._by_flag
        raised = self.raised[order]
        most = int(raised.max()) + 2
        wanted = self._group(waits.instance, waits.flag)
        place = np.searchsorted(groups * most + raised, wanted * most + np.clip(counts, 1, most - 1))
        inside = np.minimum(place, len(order) - 1)
        found = (place < len(order)) & (groups[inside] == wanted) & (counts > 0)
        return np.where(found, order[inside], NONE)

    def _links(self, waits: _Waits) -> tuple[list[Numbers], list[Numbers]]:
        """What comes directly before each instance starts, and before it completes; the number of all instances stands
        for nothing.
        """
        instances, count = self.instances, len(self.instances)
        last = self._reaches(waits, waits.last)
        never = (last == NONE) & (waits.last > 0) & ~_OUTSIDE[waits.flag]
        later = last >= waits.instance
        self.doubt[instances.tile[waits.instance[never | later]]] = True
        last[later] = NONE
        first = np.where(waits.loops, self._reaches(waits, waits.first), NONE)
        first[first >= waits.instance] = NONE
        end = self._over(last, waits.last)
        start = np.where(waits.loops, self._over(first, waits.first), end)
        end[~waits.loops] = NONE
        ahead = instances.in_one_buffer(RING_ROLES) if self._shared else instances.ahead
        direct: list[Numbers] = [np.where(ahead == NONE, count, ahead)]
        meanwhile: list[Numbers] = []
        for place in range(waits.place.max(initial=NONE) + 1):
            for links, chosen in ((direct, start), (meanwhile, end)):
                some = (waits.place == place) & (chosen != NONE)
                if some.any():
                    links.append(np.full(count, count))
                    links[-1][waits.instance[some]] = chosen[some]
        return direct, meanwhile

    def _over(self, raisers: Numbers, counts: Numbers) -> Numbers:
        """What has completed when ``raisers`` have raised their flags to some counts."""
        whole = self.raised[raisers] == counts
        return np.where(raisers == NONE, NONE, np.where(whole, raisers, self.instances.ahead[raisers]))
