"""Which layers are made band by band, so that the maps fit: the cheapest groups, by estimate."""

from __future__ import annotations

from functools import cached_property
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from tilesim.errors import CapacityError
from tilesim.lowering.allocation import DoesNotFit, Lifetime, allocate
from tilesim.machines.policies import Wishes
from tilesim.network.graph import Network, Node, macs
from tilesim.network.operators.convolution import Convolution
from tilesim.tiled.compiler.all_gather import staging_rows_of_copies
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.channels import Spread
from tilesim.tiled.compiler.feature_map import FeatureMap, MapShape, map_name, padded
from tilesim.tiled.compiler.fusion import FusedGroup, FusionGroup, fuse, fusible
from tilesim.tiled.compiler.partition import DEFAULT, Partition, partition_network
from tilesim.tiled.compiler.placement import MapPlacement, in_calls, in_steps, place, with_room, with_slack
from tilesim.tiled.compiler.tile_plan import TilePlan
from tilesim.tiled.topology import Topology

MOST_STEPS = 12
"""Steps of a group that are looked at: the tiles make more again with each further window."""
PARAMETER_SHARE = 2
"""Groups whose parameters, all in use in every band, take more than this part of wide memory are left alone."""
ISSUE_CYCLES = 64
"""About what a tensorop takes beside its steps."""
SHARES = (16, 15, 14, 12, 10, 8)
"""How many sixteenths of the memory groups may fill by estimate: places are not found for all that adds up."""
COPY_SHARES = (16, 8, 4, 2, 1, 0)
"""How many sixteenths of the memory a copy for a layer that is spread by channel may take, most first."""
STAGING_SHARE = 4
"""Rows for such copies take at most this part of wide memory: parameters live there too."""


def fitted(
    plan: TilePlan, topology: Topology, wishes: Wishes = DEFAULT, arrangement: Arrangement | None = None
) -> tuple[Partition, MapPlacement]:
    """Spread and place all maps as is wished; if there is no room for that, with smaller copies for layers that are
    spread by channel, in the end with none.
    """
    tried: list[dict[int, Spread]] = []
    for share in COPY_SHARES:
        copy_bytes = topology.narrow_memory.size_bytes * share // COPY_SHARES[0]
        whole = partition_network(plan, topology, (), wishes, copy_bytes, arrangement)
        if whole.spreads in tried or (
            share and _staged_bytes(whole) > topology.wide_memory.size_bytes // STAGING_SHARE
        ):
            continue
        tried.append(whole.spreads)
        try:
            return _fitted(whole)
        except CapacityError as error:
            too_large = error
    raise too_large


def _staged_bytes(whole: Partition) -> int:
    """Bytes of wide memory through which copies go."""
    row_bytes = whole.topology.wide_memory.row_bytes
    return sum(rows for rows, _ in staging_rows_of_copies(whole, whole.maps, row_bytes).values()) * row_bytes


def _fitted(whole: Partition) -> tuple[Partition, MapPlacement]:
    """Place all maps whole; if there is no room for that, the cheapest groups of layers band by band."""
    topology = whole.topology
    try:
        return whole, place(whole, topology)
    except CapacityError as error:
        too_large = error
    for share in SHARES:
        groups = choose(whole, topology.narrow_memory.size_bytes * share // SHARES[0])
        if groups is None:
            break
        partition = partition_network(whole.plan, topology, groups, whole.wishes, whole.copy_bytes, whole.arrangement)
        try:
            return partition, place(partition, topology)
        except CapacityError:
            continue
    raise too_large


def choose(whole: Partition, capacity: int) -> list[FusionGroup] | None:
    """The groups with which no step needs more than ``capacity`` bytes, of all such the ones with the fewest cycles;
    None if none do.
    """
    budget = Budget(whole, capacity)
    count = len(whole.plan.steps)
    best: list[tuple[float, tuple[FusionGroup, ...]]] = [(0, ())]
    for end in range(1, count + 1):
        ways = [best[end - 1]] if budget.holds(end) else []
        for first in range(max(1, end - MOST_STEPS + 1), end + 1):
            cost, chosen = best[first - 1]
            if cost < inf and (group := budget.group(range(first, end + 1))) is not None:
                ways.append((cost + budget.cycles(group), (*chosen, group)))
        best.append(min(ways, key=lambda way: (way[0], len(way[1])), default=(inf, ())))
    cost, chosen = best[count]
    return list(chosen) if cost < inf else None


class Budget(Struct, frozen=True, dict=True):
    """What maps and groups of layers take of ``capacity`` bytes in each step, next to ``whole`` maps elsewhere."""

    whole: Partition
    capacity: int

    def holds(self, step: int) -> bool:
        """Whether a step has room for whole maps."""
        return sum(life.size for life in self._lives.values() if life.first <= step <= life.last) <= self.capacity

    def group(self, steps: range) -> FusionGroup | None:
        """The fewest bands in which some steps find room; None if they don't, or if they needn't."""
        if all(self.holds(step) for step in steps) or not fusible(self.whole.plan, steps):
            return None
        if any(self._by_channel(self._node(step)) for step in steps):
            return None
        if self._parameter_bytes(steps) > self.whole.topology.wide_memory.size_bytes // PARAMETER_SHARE:
            return None
        smallest, most = None, max(map(len, self.whole.made(self._node(steps[-1])).rows.own))  # rows of a tile
        low, high = 1, most - 1
        while low <= high:
            rows = (low + high) // 2
            group = FusionGroup(steps, -(-most // rows))
            if self._has_room(group):
                smallest, low = group, rows + 1
            else:
                high = rows - 1
        return smallest

    def cycles(self, group: FusionGroup) -> float:
        """About how much longer the busiest tile takes for a group than for its steps one by one."""
        fused = fuse(self.whole.plan, self.whole.whole, group, _some(group.bands))
        more = 0.0
        for step in group.steps:
            node = self._node(step)
            across = max(map(len, fused.columns.own[node.output]))
            first, *between, last = (max(map(len, rows.own[node.output])) for rows in fused.rows)
            down = first + sum(between) * (group.bands - 2) + last
            made = self.whole.made(node)
            alone = max(map(len, made.rows.own)) * max(map(len, made.columns.own))
            more += (down * across - alone) * cycles_per_pixel(self.whole.plan.network, node, self.whole.topology) + (
                group.bands - 1
            ) * ISSUE_CYCLES
        return max(0.0, more)

    @cached_property
    def _lives(self) -> dict[str, Lifetime]:
        return in_steps(self.whole, self._maps, in_calls(self.whole))

    @cached_property
    def _maps(self) -> dict[str, FeatureMap]:
        return with_slack(self.whole, self.whole.topology)

    def _node(self, step: int) -> Node:
        return self.whole.plan.steps[step - 1][1]

    def _by_channel(self, node: Node) -> bool:
        """Whether a node has to do with maps that are spread by channel."""
        near = (node.output, *(tensor.index for tensor in self.whole.plan.activations(node)))
        return any(self.whole.whole[index].block for index in near)

    def _parameter_bytes(self, steps: range) -> int:
        tensors = self.whole.plan.network.tensors
        constants = (tensors[i].data for step in steps for i in self._node(step).inputs)
        return sum(constant.nbytes for constant in constants if constant is not None)

    def _has_room(self, group: FusionGroup) -> bool:
        """Whether all maps inside a group find places beside those that are there all the time."""
        fused = fuse(self.whole.plan, self.whole.whole, group, _some(group.bands))
        if self._reads_nothing(fused):
            return False
        inside = {map_name(index) for index in fused.inner}
        here = Lifetime(0, group.steps[0], group.steps[-1])
        beside = [(name, life) for name, life in self._lives.items() if life.meets(here) and name not in inside]
        left = self.capacity - sum(self._size(fused, name, life) for name, life in beside)
        items = [self._item(fused, index) for index in fused.inner]
        try:
            allocate(items, left, self.whole.topology.narrow_memory.word_bytes)
        except DoesNotFit:
            return False
        return True

    def _reads_nothing(self, fused: FusedGroup) -> bool:
        """Whether a layer makes nothing but a border in some band, on all tiles: there is no map that it could read."""
        plan = self.whole.plan
        moves = [
            (node.output, tensor.index)
            for node in map(self._node, fused.group.steps)
            for tensor in plan.activations(node)
            if tensor.index in fused.inner
        ]
        return any(any(rows.own[makes]) and not any(rows.own[reads]) for rows in fused.rows for makes, reads in moves)

    def _size(self, fused: FusedGroup, name: str, life: Lifetime) -> int:
        """Bytes of a map that also serves a group."""
        map_ = self._maps[name]
        grown = fused.feeding(self.whole.tensor(name).index, map_)
        return life.size + grown.size_bytes - map_.size_bytes

    def _item(self, fused: FusedGroup, index: int) -> Lifetime:
        life = self._lives[map_name(index)]
        maps = list(fused.cut(index, self.whole.whole[index]).values())
        comes = any(source.stored.index == index for source in self.whole.plan.sources)
        if comes:
            maps = [with_room(map_, self.whole.topology) for map_ in maps]
        size = max(map_.size_bytes for map_ in maps)
        return replace(life, size=size, last=fused.group.steps[-1] if comes else life.last)


def _some(bands: int) -> list[int]:
    """A few bands for all: the first, one of those between, which are alike, and the last."""
    return sorted({0, bands // 2, bands - 1})


def cycles_per_pixel(network: Network, node: Node, topology: Topology) -> float:
    """About what a tile takes for a pixel of what a node makes."""
    shape = MapShape.of(network.tensors[node.output].shape)
    work = max(macs(network, node) / shape.pixels, padded(shape.channels, topology.tile.vector_bytes))
    dense = isinstance(node.operator, Convolution)
    return work / (topology.macs_per_cycle if dense else topology.tile.vector_bytes)
