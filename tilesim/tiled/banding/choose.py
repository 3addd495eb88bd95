"""Which runs of a network's layers are made band by band, so that their maps fit: the cheapest by estimate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from tilesim.machines.policies import Wishes
from tilesim.tiled.banding.candidate import Candidate, RunMeasures
from tilesim.tiled.banding.operators import is_bandable
from tilesim.tiled.banding.rewrite import BandedRun
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.fitting import Budget
from tilesim.tiled.compiler.host_split import HostSplit
from tilesim.tiled.compiler.partition import Partition, partition_network
from tilesim.tiled.compiler.tile_plan import TilePlan, plan_operators
from tilesim.tiled.topology import Topology

MOST_LAYERS = 24
"""Steps of a run that are looked at."""
GROUP_STEPS = 6
"""Steps of a group of layers in bands of each tile's own rows that are looked at."""


class Way(Struct, frozen=True):
    """How the first steps are made over a grid: about how many more ``cycles`` they take than if all maps had room; or,
    of all steps, how many they take.
    """

    grid: Arrangement
    cycles: float = 0
    runs: tuple[BandedRun, ...] = ()


Ways = Sequence[Way | None]
"""The best way for the first steps, by how many these are; None if there is none."""


class RunSearch(Struct, dict=True):
    """Looks for runs with which no step needs more than ``capacity`` bytes of a tile."""

    split: HostSplit
    topology: Topology
    wishes: Wishes
    capacity: int
    grid: Arrangement
    _candidates: dict[int, list[tuple[int, Candidate]]] = field(default_factory=dict)

    def best(self) -> Way | None:
        """The runs with which the network takes the fewest cycles; None if no runs make it fit."""
        count = len(self.plan.steps)
        for first in range(1, count + 1):
            for end, candidate in self._from(first):
                self._candidates.setdefault(end, []).append((first, candidate))
        stays: list[Way | None] = [Way(self.grid)]  # the last step's maps are on the chip
        leaves: list[Way | None] = [None]  # they are at the host
        for end in range(1, count + 1):
            stays.append(_least(self._on_chip(end, stays, leaves)))
            leaves.append(_least(self._at_host(end, stays, leaves)))
        way = _least(way for way in (stays[count], leaves[count]) if way)
        return way and replace(way, cycles=way.cycles + self.measures.plain_cycles(range(1, count + 1)))

    @cached_property
    def plan(self) -> TilePlan:
        return plan_operators(self.split.part, self.topology.narrow_memory.word_bytes, absorbs=self.wishes.mixed)

    @cached_property
    def whole(self) -> Partition:
        return partition_network(self.plan, self.topology, (), self.wishes, 0, self.grid)

    @cached_property
    def budget(self) -> Budget:
        return Budget(self.whole, self.capacity)

    @cached_property
    def measures(self) -> RunMeasures:
        return RunMeasures(self.split.whole, self.whole, self.capacity)

    def _layer(self, step: int) -> int:
        """The number of a step in the whole network."""
        return self.split.layers[self.plan.steps[step - 1][0]]

    def _on_chip(self, end: int, *before: Ways) -> Iterator[Way]:
        """The step ``end`` as it is, or some up to it in bands of each tile's own rows."""
        if self.budget.holds(end):
            yield from _known(before, end - 1)
        for first in range(max(1, end - GROUP_STEPS + 1), end + 1):
            known = _known(before, first - 1)
            if known and (group := self.budget.group(range(first, end + 1))) is not None:
                more = self.budget.cycles(group)
                yield from (replace(way, cycles=way.cycles + more) for way in known)

    def _at_host(self, end: int, stays: Ways, leaves: Ways) -> Iterator[Way]:
        """One more run up to the step ``end``."""
        for first, own in self._candidates.get(end, ()):
            for before, leaving in ((stays[first - 1], own.leaving_cycles), (leaves[first - 1], 0.0)):
                if before is not None:
                    yield replace(before, cycles=before.cycles + own.cycles + leaving, runs=(*before.runs, own.run))

    def _from(self, first: int) -> Iterator[tuple[int, Candidate]]:
        """Runs that begin with a step, with the last step of each, in the fewest bands that fit: as many as a shorter
        one needs, or more.
        """
        bands, last = 2, min(len(self.plan.steps), first + MOST_LAYERS - 1)
        for end in range(first, last + 1):
            steps, layers = range(first, end + 1), range(self._layer(first), self._layer(end) + 1)
            if not self._on_tiles(layers):
                return
            if not all(map(self.budget.holds, steps)):
                candidate = self.measures.candidate(steps, layers, bands)
                if candidate is None:
                    return
                bands = candidate.run.bands
                yield end, candidate

    def _on_tiles(self, layers: range) -> bool:
        """Whether the chip has a part in all of some layers, and bands can be made of them."""
        network = self.split.whole
        return all(k not in self.split.host and is_bandable(network, network.nodes[k]) for k in layers)


def _known(before: Sequence[Ways], count: int) -> list[Way]:
    """The ways for so many steps."""
    return [way for ways in before if (way := ways[count]) is not None]


def _least(ways: Iterable[Way]) -> Way | None:
    return min(ways, key=lambda way: (way.cycles, len(way.runs)), default=None)
