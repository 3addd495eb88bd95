"""Which runs of a network's layers are made band by band, so that their maps fit: the cheapest by estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from tilesim.errors import CapacityError
from tilesim.lowering.allocation import in_use
from tilesim.machines.policies import Wishes
from tilesim.network.graph import Network
from tilesim.tiled.banding.operators import ROWS, is_bandable
from tilesim.tiled.banding.rewrite import BandedRun, band_alone, band_rows, rows_made, run_outputs
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.fitting import MOST_STEPS, Budget, cycles_per_pixel
from tilesim.tiled.compiler.host_split import HostSplit
from tilesim.tiled.compiler.partition import Partition, partition_network
from tilesim.tiled.compiler.placement import in_calls, in_steps, with_slack
from tilesim.tiled.compiler.tile_plan import TilePlan, plan_operators
from tilesim.tiled.topology import Topology

MOST_LAYERS = 24
"""Steps of a run that are looked at."""
MOST_BANDS = 64
"""Of one run."""
MOST_AGAIN = 4
"""Runs in which the tiles have so many times the work are left alone, and all that are longer."""
BAND_CYCLES = 4000
"""About what a band takes beside its work: its rows' way from the host and to it, and all that waits for its first one."""


@dataclass(frozen=True)
class Way:
    """How the first steps are made: about how many more ``cycles`` they take than if all maps had room."""

    cycles: float
    runs: tuple[BandedRun, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A run, with about how many more cycles it takes, and to bring its inputs to the host."""

    run: BandedRun
    cycles: float
    leaving_cycles: float


@dataclass
class RunSearch:
    """Looks for runs with which no step needs more than ``capacity`` bytes of a tile."""

    split: HostSplit
    topology: Topology
    wishes: Wishes
    capacity: int
    arrangement: Arrangement
    _plain_cycles: dict[int, float] = field(default_factory=dict)

    @cached_property
    def plan(self) -> TilePlan:
        return plan_operators(self.split.part, self.topology.narrow_memory.word_bytes, absorbs=self.wishes.mixed)

    @cached_property
    def whole(self) -> Partition:
        return partition_network(self.plan, self.topology, (), self.wishes, 0, self.arrangement)

    @cached_property
    def budget(self) -> Budget:
        return Budget(self.whole, self.capacity)

    def layer(self, step: int) -> int:
        """The number of a step in the whole network."""
        return self.split.layers[self.plan.steps[step - 1][0]]

    def best(self) -> Way | None:
        """The runs with which the network takes the fewest cycles, if there are any such that make it fit."""
        runs: dict[int, list[tuple[int, Candidate]]] = {}
        count = len(self.plan.steps)
        for first in range(1, count + 1):
            for end, candidate in self.candidates(first):
                runs.setdefault(end, []).append((first, candidate))
        stays: list[Way | None] = [Way(0)]  # the last step's maps are on the chip
        leaves: list[Way | None] = [None]  # they are at the host
        for end in range(1, count + 1):
            stays.append(_least(self._on_chip(end, stays, leaves)))
            leaves.append(_least(_at_host(runs.get(end, []), stays, leaves)))
        return _least(way for way in (stays[count], leaves[count]) if way)

    def _on_chip(self, end: int, *before: list[Way | None]) -> Iterator[Way]:
        ways = lambda step: [own[step] for own in before if own[step] is not None]
        if self.budget.holds(end):
            yield from ways(end - 1)
        for first in range(max(1, end - MOST_STEPS + 1), end + 1):
            known = ways(first - 1)
            if known and (group := self.budget.group(range(first, end + 1))) is not None:
                more = self.budget.cycles(group)
                yield from (replace(way, cycles=way.cycles + more) for way in known)

    def candidates(self, first: int) -> Iterator[tuple[int, Candidate]]:
        """Runs that begin with a step, with the last step of each: in the fewest bands that fit."""
        bands, network = 2, self.split.whole
        for end in range(first, min(len(self.plan.steps), first + MOST_LAYERS - 1) + 1):
            layers = range(self.layer(first), self.layer(end) + 1)
            if not is_bandable(network, network.nodes[layers[-1]]) or not self._whole_chip(layers):
                return
            if all(self.budget.holds(step) for step in range(first, end + 1)):
                continue
            outputs = run_outputs(network, layers)
            most = min(MOST_BANDS, *(network.tensors[index].shape[ROWS] for index in outputs))
            part = self._band(layers, bands)
            while part is None or not self._fits(part):
                bands += max(1, bands // 4)
                if bands > most:
                    return
                part = self._band(layers, bands)
            plain = sum(self._plain(step) for step in range(first, end + 1))
            again = self._cycles(part) * bands
            if again > MOST_AGAIN * plain:
                return
            yield end, self._candidate(layers, bands, part, again - plain)

    def _whole_chip(self, layers: range) -> bool:
        """Whether the chip has a part in all of some layers, and bands can be made of them."""
        network = self.split.whole
        return all(k not in self.split.host and is_bandable(network, network.nodes[k]) for k in layers)

    def _band(self, layers: range, bands: int) -> Partition | None:
        """The largest band, if tiles can do it."""
        network = self.split.whole
        sizes = {index: network.tensors[index].shape[ROWS] for index in run_outputs(network, layers)}
        slices = [{index: band_rows(size, bands)[k] for index, size in sizes.items()} for k in range(bands)]
        wanted = max(slices, key=lambda rows: sum(map(len, rows_made(network, layers, rows).values())))
        word_bytes = self.topology.narrow_memory.word_bytes
        try:
            plan = plan_operators(band_alone(network, layers, wanted), word_bytes, absorbs=self.wishes.mixed)
        except CapacityError:
            return None
        return partition_network(plan, self.topology, (), Wishes(self.wishes.default), 0, self.arrangement)

    def _fits(self, part: Partition) -> bool:
        lives = in_steps(part, with_slack(part, self.topology), in_calls(part))
        return int(in_use(list(lives.values())).max(initial=0)) <= self.capacity

    def _candidate(self, layers: range, bands: int, part: Partition, more: float) -> Candidate:
        chip, network = self.topology, self.split.whole
        known = {tensor.name: index for index, tensor in network.tensors.items()}
        sources = [source.stored for source in part.plan.sources]
        given = sum(_bytes(network, index) for index in network.inputs if self._reads(layers, index))
        come = max(0, bands * sum(prod(tensor.shape) * tensor.dtype.itemsize for tensor in sources) - given)
        outputs = [index for index in run_outputs(network, layers) if index not in network.outputs]
        leave = sum(_bytes(network, index) for index in outputs)
        read = {index for k in layers for index in network.nodes[k].inputs if network.tensors[index].data is None}
        made = {network.nodes[k].output for k in layers}
        before = sum(_bytes(network, index) for index in read - made if index not in network.inputs)
        weights = sum(data.nbytes for k in layers for data in self._constants(k))
        rows = weights / chip.wide_memory.row_bytes * chip.ring_row_cycles
        more += bands * (BAND_CYCLES + max(0.0, rows - self._cycles(part)))
        more += float(chip.to_chip_cycles(come) + chip.from_chip_cycles(leave))
        del known
        return Candidate(BandedRun(layers, bands), more, float(chip.from_chip_cycles(before)))

    def _reads(self, layers: range, index: int) -> bool:
        return any(index in self.split.whole.nodes[k].inputs for k in layers)

    def _constants(self, layer: int):
        network = self.split.whole
        return [data for i in network.nodes[layer].inputs if (data := network.tensors[i].data) is not None]

    def _plain(self, step: int) -> float:
        if step not in self._plain_cycles:
            self._plain_cycles[step] = _step_cycles(self.whole, step)
        return self._plain_cycles[step]

    def _cycles(self, part: Partition) -> float:
        return sum(_step_cycles(part, step) for step in range(1, len(part.plan.steps) + 1))


def _step_cycles(partition: Partition, step: int) -> float:
    """About how long the busiest tile takes for a step."""
    node = partition.plan.steps[step - 1][1]
    made = partition.made(node)
    pixels = max(map(len, made.rows.own)) * max(map(len, made.columns.own))
    return pixels * cycles_per_pixel(partition.plan.network, node, partition.topology)


def _bytes(network: Network, index: int) -> int:
    tensor = network.tensors[index]
    return prod(tensor.shape) * tensor.dtype.itemsize


def _at_host(runs: list[tuple[int, Candidate]], stays: list[Way | None], leaves: list[Way | None]) -> Iterator[Way]:
    """The ways with one more run."""
    for first, own in runs:
        for before, leaving in ((stays[first - 1], own.leaving_cycles), (leaves[first - 1], 0.0)):
            if before is not None:
                yield Way(before.cycles + own.cycles + leaving, (*before.runs, own.run))


def _least(ways: Iterator[Way]) -> Way | None:
    return min(ways, key=lambda way: (way.cycles, len(way.runs)), default=None)
