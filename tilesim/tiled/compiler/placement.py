"""Where maps lie in narrow memory, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilesim.errors import CapacityError
from tilesim.tiled.compiler.allocate import DoesNotFit, Lifetime, allocate
from tilesim.tiled.compiler.feature_map import FeatureMap, bits
from tilesim.tiled.compiler.partition import Partition, copy_name, map_name
from tilesim.tiled.compiler.rows import copied_words, part_words, spill_bytes
from tilesim.tiled.isa.fields import Traversal
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes


@dataclass(frozen=True)
class Placement:
    """Maps by name, and each map's lifetime in steps: step 0 is the infeed, step k the k-th node, the last the
    outfeed.
    """

    maps: dict[str, FeatureMap]
    lifetimes: dict[str, Lifetime]

    def predecessors(self, name: str) -> list[str]:
        """Maps whose bytes the map ``name`` overwrites."""
        map_, life = self.maps[name], self.lifetimes[name]
        return [
            other
            for other, theirs in self.maps.items()
            if self.lifetimes[other].last < life.first
            and theirs.address < map_.address + map_.size_bytes
            and map_.address < theirs.address + theirs.size_bytes
        ]


def place(spread: Partition, topology: Topology) -> Placement:
    """Give every map an address. No byte serves two maps if all maps fit side by side: then nothing ever has to wait
    for a place.

    Raises:
        CapacityError: the map that finds no place, its bytes, and what is free.
    """
    maps = _with_slack(spread, topology)
    lives = {name: _lifetime(spread, name, map_.size_bytes) for name, map_ in maps.items()}
    memory = topology.narrow_memory
    last = len(spread.plan.steps) + 1
    always = [replace(life, first=0, last=last) for life in lives.values()]
    try:
        addresses = allocate(always, memory.size_bytes, memory.word_bytes)
    except DoesNotFit:
        addresses = _by_lifetime(spread, list(lives.values()), topology)
    placed = {
        name: replace(map_, address=address) for (name, map_), address in zip(maps.items(), addresses, strict=True)
    }
    return Placement(placed, lives)


def _by_lifetime(spread: Partition, lives: list[Lifetime], topology: Topology) -> list[int]:
    memory = topology.narrow_memory
    try:
        return allocate(lives, memory.size_bytes, memory.word_bytes)
    except DoesNotFit as error:
        raise CapacityError(
            f"{spread.plan.network.name}: tensor {error.item.name} must fit the narrow memory of {topology.name}: it "
            f"needs {format_bytes(error.item.size)}, and {format_bytes(error.free)} of "
            f"{format_bytes(memory.size_bytes)} are free while it lives"
        ) from None


def _with_slack(spread: Partition, topology: Topology) -> dict[str, FeatureMap]:
    """Room for what whole wide rows spill, in maps that cross the ring."""
    plan = spread.plan
    copied = [int(name.removeprefix("copy")) for name in spread.maps if name.startswith("copy")]
    stored = [*(source.stored for source in plan.sources), *(sink.stored for sink in plan.sinks)]
    maps, sizes = dict(spread.maps), (topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes)
    for index in dict.fromkeys([*(tensor.index for tensor in stored), *copied]):
        map_ = maps[map_name(index)]
        parts = [each for _, part in map_.parts() for each in (part, part.block)]
        maps[map_name(index)] = _roomy(map_, [part_words(part, *sizes) for part in parts], sizes[1])
    for index in copied:
        map_, copy = maps[map_name(index)], maps[copy_name(index)]
        maps[copy_name(index)] = _roomy(copy, [copied_words(map_, copy, bits(copy.tiles)[0], *sizes)], sizes[1])
    return maps


def _roomy(map_: FeatureMap, words: list[Traversal], word_bytes: int) -> FeatureMap:
    return replace(map_, slack_bytes=spill_bytes(map_, words, word_bytes))


def _lifetime(spread: Partition, name: str, size: int) -> Lifetime:
    plan = spread.plan
    index = int(name.removeprefix("copy").removeprefix("tensor"))
    tensor = plan.network.tensors[index]
    uses = [
        step
        for step, (_, node) in enumerate(plan.steps, 1)
        for read in plan.activations(node)
        if read is tensor and spread.read(node, tensor) == name
    ]
    if name == copy_name(index):
        return Lifetime(tensor.title, size, uses[0], uses[-1])
    uses += _copied(spread, index)
    made = [step for step, (_, node) in enumerate(plan.steps, 1) if node.output == index]
    # Nothing comes after what nobody reads: it stays, so that nothing has to wait for it.
    leaves = [len(plan.steps) + 1] if not uses or any(sink.stored is tensor for sink in plan.sinks) else []
    first = made[0] if made else 0
    return Lifetime(tensor.title, size, first, max([first, *uses, *leaves]))


def _copied(spread: Partition, index: int) -> Iterator[int]:
    """The step before which a map is copied."""
    plan, name = spread.plan, copy_name(index)
    for step, (_, node) in enumerate(plan.steps, 1):
        if any(tensor.index == index and spread.read(node, tensor) == name for tensor in plan.activations(node)):
            yield step
            return
