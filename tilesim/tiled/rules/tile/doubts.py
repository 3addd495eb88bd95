"""Tiles on which it takes a closer look to tell whether accesses have an order: hardly any of a compiled program.

All tiles are looked at at once. A tile is in no doubt if no instruction waits for a later one, if everything that is
waited for comes, and if any two instructions in no order that may touch the same bytes are kept apart by the watchers
of one on the flag of the other. A tile without hazards may be in doubt; one that has some always is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tilesim.ragged import ranges
from tilesim.tiled.rules.tile.clocks import Clocks
from tilesim.tiled.rules.tile.effects import Effects, Section, Touched
from tilesim.tiled.rules.tile.instances import ENGINES, FLAGS, Instances, Numbers, fences_of
from tilesim.tiled.rules.tile.touches import Use
from tilesim.tiled.topology import Topology

PARTS = 64
"""Parts of a memory that are told apart before operands are compared byte by byte."""
MOST_PAIRS = 1 << 24
"""Pairs of instructions in no order, tile by tile, that are looked at here."""
AT_ONCE = 1 << 20
"""About as many of them at a time."""

Bits = NDArray[np.uint64]
Touching = NDArray[np.uint64]
"""The parts of the narrow and of the wide memory that instructions may touch, and may write, as bitmaps."""
Sharing = Callable[[Effects, Effects], Sequence[tuple[Use, Use]]]
"""Operands of two instructions that touch some byte both, at least one of them writing."""
Parts = Callable[[Effects, int, Effects, tuple[Use, Use]], bool]
"""Whether an instruction, whose flag counts to a number by it, is through with what it shares with another one when
that, by its watchers on the flag, comes to it.
"""


def doubtful(topology: Topology, sections: Sequence[Section], sharing: Sharing, parts: Parts) -> list[int]:
    """The tiles that are in doubt, in order."""
    works = [entry for section in sections for entry in section if isinstance(entry, Effects)]
    if not all(0 < work.op.tiles < 1 << topology.tiles for work in works):
        return list(range(topology.tiles))
    if not works:
        return []
    instances = Instances(works, topology.tiles)
    clocks = Clocks(instances, list(fences_of(topology, sections)), topology.ring.queue == "shared")
    pairs = _Pairs(clocks, _parts_touched(works, topology))
    if pairs.count > MOST_PAIRS:
        return list(range(topology.tiles))
    doubt = clocks.doubt.copy()
    for earlier, later in pairs.meetings():
        one, other = works[instances.op[earlier[0]]], works[instances.op[later[0]]]
        for uses in sharing(one, other):
            held = _Way(clocks, one, earlier, other, later).holds(parts, uses)
            if not held.all():
                held |= _Way(clocks, other, later, one, earlier).holds(parts, uses[::-1])
            doubt[instances.tile[later[~held]]] = True
    return np.flatnonzero(doubt).tolist()


def _parts_touched(works: Sequence[Effects], topology: Topology) -> Touching:
    """Of each instruction."""
    sizes = {"narrow": topology.narrow_memory.size_bytes, "wide": topology.wide_memory.size_bytes}
    widths = {memory: -(-size // PARTS) for memory, size in sizes.items()}
    known: dict[Touched, tuple[int, int, int, int]] = {}
    for work in works:
        if work.alike not in known:
            known[work.alike] = _of_uses(work.uses, widths)
    return np.array([known[work.alike] for work in works], np.uint64).T.copy()


def _of_uses(uses: Sequence[Use], widths: dict[str, int]) -> tuple[int, int, int, int]:
    touched, written = dict.fromkeys(widths, 0), dict.fromkeys(widths, 0)
    for use in uses:
        memory, (first, end) = use.footprint.memory, use.footprint.extent
        parts = (1 << -(-end // widths[memory])) - (1 << first // widths[memory])
        touched[memory] |= parts
        written[memory] |= parts * use.footprint.writes
    return touched["narrow"], touched["wide"], written["narrow"], written["wide"]


@dataclass
class _Pairs:
    """Instances of one tile and two engines of which neither is over when the other starts."""

    clocks: Clocks
    touched: Touching

    def __post_init__(self) -> None:
        self._instances, self._before = self.clocks.instances, self.clocks.before
        meeting = self._with_engines()
        open_ = np.zeros(self._before.shape, np.int32)
        for engine in np.flatnonzero(meeting.any(0)).tolist():
            left = self._instances.issued(engine) - self._before[:, engine]
            open_[:, engine] = np.where(meeting[self._instances.op, engine], left, 0)
        self._later, self._engine = np.nonzero(open_ > 0)
        self._counts = open_[self._later, self._engine].astype(np.int64)

    def _with_engines(self) -> NDArray[np.bool_]:
        """Of each instruction whether one of each other engine may touch the same bytes."""
        engines = self._instances.engines
        meeting = np.zeros((len(engines), len(ENGINES)), bool)
        for engine in sorted({*engines.tolist()}):
            together = np.bitwise_or.reduce(self.touched[:, engines == engine], axis=1, keepdims=True)
            meeting[:, engine] = _may_meet([*self.touched], [*together]) & (engines != engine)
        return meeting

    @property
    def count(self) -> int:
        """How many there may be."""
        return int(self._counts.sum())

    def meetings(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Those that may touch the same bytes: the earlier ones and the later ones of two instructions at a time."""
        found = [self._meeting(chosen) for chosen in self._portions()]
        if not any(len(earlier) for earlier, _ in found):
            return
        op, earlier, later = self._instances.op, *(np.concatenate(each) for each in zip(*found, strict=True))
        keys = op[earlier] * len(self._instances.works) + op[later]
        order = np.argsort(keys, kind="stable")
        earlier, later = earlier[order], later[order]
        cuts = [0, *(np.flatnonzero(np.diff(keys[order])) + 1).tolist(), len(order)]
        yield from ((earlier[first:end], later[first:end]) for first, end in pairwise(cuts))

    def _portions(self) -> Iterator[slice]:
        sums = np.cumsum(self._counts)
        if len(sums):
            cuts = np.searchsorted(sums, np.arange(AT_ONCE, sums[-1], AT_ONCE))
            ends = sorted({0, *cuts.tolist(), len(sums)})
            yield from map(slice, ends[:-1], ends[1:])

    def _meeting(self, chosen: slice) -> tuple[Numbers, Numbers]:
        instances, counts = self._instances, self._counts[chosen]
        windows, engines = self._later[chosen], self._engine[chosen]
        first = instances.queue_starts[instances.tile[windows] * len(ENGINES) + engines]
        earlier = instances.queue[ranges(first + self._before[windows, engines], counts)]
        later = np.repeat(windows, counts)
        one, other = instances.op[earlier], instances.op[later]
        may = _may_meet([part[one] for part in self.touched], [part[other] for part in self.touched])
        earlier, later = earlier[may], later[may]
        unordered = self._before[earlier, instances.engine[later]] <= instances.rank[later]
        return earlier[unordered], later[unordered]


def _may_meet(some: Sequence[Bits], others: Sequence[Bits]) -> NDArray[np.bool_]:
    """Whether instructions may touch the same bytes, at least one of them writing, by their parts of memories."""
    met = some[0] & others[2]
    met |= some[2] & others[0]
    met |= some[1] & others[3]
    met |= some[3] & others[1]
    return met > 0


class _Way:
    """Whether watchers of ``then`` wait for ``first``, in instances of both."""

    def __init__(self, clocks: Clocks, first: Effects, firsts: Numbers, then: Effects, thens: Numbers) -> None:
        self.first, self.then = first, then
        self._may = np.zeros(len(firsts), bool)
        if any(watcher.flag == first.flag for watcher in then.op.wait):
            generation = clocks.generation(FLAGS[first.flag])
            self._may = generation[firsts] == generation[thens]
        self._raised = clocks.raised[firsts]

    def holds(self, parts: Parts, uses: tuple[Use, Use]) -> NDArray[np.bool_]:
        """Where they keep two operands apart."""
        held: NDArray[np.bool_] = self._may.copy()
        for raised in set(self._raised[held].tolist()):
            if not parts(self.first, raised, self.then, uses):
                held[self._raised == raised] = False
        return held
