"""Where maps lie in narrow memory, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from tilesim.errors import MapsError
from tilesim.lowering.allocation import DoesNotFit, Lifetime, allocate
from tilesim.tiled.compiler.chip_part import comes_late, early_outputs
from tilesim.tiled.compiler.feature_map import FeatureMap, copy_name, map_name, place_name, tensor_of
from tilesim.tiled.compiler.partition import Partition
from tilesim.tiled.compiler.rows import copied_words, part_words, sent, spill_bytes
from tilesim.tiled.isa.model.fields import Traversal, bits
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes


class MapPlacement(Struct, frozen=True):
    """Maps by name, and each map's lifetime in calls: call 0 is the infeed, call k the k-th, the last the outfeed."""

    maps: dict[str, FeatureMap]
    lifetimes: dict[str, Lifetime]
    _before: dict[str, list[str]] = field(default_factory=dict)
    _last: dict[str, int] = field(default_factory=dict)

    def banded(self, name: str) -> bool:
        """Whether a map is a band of a tensor."""
        return name != place_name(name)

    def last_before(self, name: str) -> int:
        """The last step in which somebody reads what the map ``name`` overwrites."""
        if name not in self._last:
            self._last[name] = max((self.lifetimes[other].last for other in self.predecessors(name)), default=0)
        return self._last[name]

    def predecessors(self, name: str) -> list[str]:
        """Maps whose bytes the map ``name`` overwrites."""
        if name not in self._before:
            map_, life = self.maps[name], self.lifetimes[name]
            start, end = map_.address, map_.address + map_.size_bytes
            self._before[name] = [
                other
                for other, theirs in self.maps.items()
                if theirs.address < end
                and self.lifetimes[other].last < life.first
                and start < theirs.address + theirs.size_bytes
            ]
        return self._before[name]


def place(partition: Partition, topology: Topology) -> MapPlacement:
    """Give every map an address, the same one to all bands of a tensor. No byte serves two tensors if all fit side by
    side: then nothing ever has to wait for a place.
    """
    maps, calls = with_slack(partition, topology), in_calls(partition)
    items = in_steps(partition, maps, calls)
    memory = topology.narrow_memory
    last = len(partition.plan.steps) + 1
    always = [replace(item, first=0, last=last) for item in items.values()]
    try:
        addresses = allocate(always, memory.size_bytes, memory.word_bytes)
    except DoesNotFit:
        addresses = _by_lifetime(partition, list(items.values()), topology)
    at = dict(zip(items, addresses, strict=True))
    placed = {name: replace(map_, address=at[place_name(name)]) for name, map_ in maps.items()}
    lives = {name: Lifetime(placed[name].size_bytes, min(when), max(when), name) for name, when in calls.items()}
    return MapPlacement(placed, lives)


def _by_lifetime(partition: Partition, lives: list[Lifetime], topology: Topology) -> list[int]:
    memory = topology.narrow_memory
    try:
        return allocate(lives, memory.size_bytes, memory.word_bytes)
    except DoesNotFit as error:
        raise MapsError(
            f"{partition.plan.network.name}: tensor {error.item.name} must fit the narrow memory of {topology.name}: "
            f"it needs {format_bytes(error.item.size)}, and {format_bytes(error.free)} of "
            f"{format_bytes(memory.size_bytes)} are free while it lives"
        ) from None


def in_calls(partition: Partition) -> dict[str, list[int]]:
    """The calls in which each map is there: 0 is the infeed, the last one the outfeed. What the host makes of results
    comes right before it is read.
    """
    calls: dict[str, list[int]] = {name: [] for name in partition.maps}
    for number, call in enumerate(partition.calls, 1):
        calls[call.makes].append(number)
        for index, name in call.reads.items():
            if name == copy_name(index) and not calls[name]:
                calls[map_name(index)].append(number)  # is copied
            calls[name].append(number)
    for source in partition.plan.sources:
        late = comes_late(partition.plan.network, source.model.index)
        read = calls[partition.maps_of(source.stored.index)[0]]
        begin = min(read, default=0) if late and 1 not in read else 0
        for name in partition.maps_of(source.stored.index):  # each band comes when all that read the one before have
            calls[name].append(begin)
            begin = max(calls[name]) + 1
    plan = partition.plan
    early = {map_name(sink.stored.index) for sink in plan.sinks if sink.model.index in early_outputs(plan.network)}
    sinks = {map_name(sink.stored.index) for sink in plan.sinks if sink.model.index not in early_outputs(plan.network)}
    for name, when in calls.items():
        # Nothing comes after what nobody reads: it stays, so that nothing has to wait for it. What the host needs early
        # leaves as soon as it is whole.
        if name in sinks or (name not in early and not plan.readers(tensor_of(name))):
            when.append(len(partition.calls) + 1)
    return calls


def in_steps(
    partition: Partition, maps: Mapping[str, FeatureMap], calls: Mapping[str, Sequence[int]]
) -> dict[str, Lifetime]:
    """From which step to which each place is taken, and how much of it. What a group reads and what it leaves is there
    in all its steps, and so are the network's inputs; what it makes on the way only from its maker to its readers.
    """
    lives: dict[str, Lifetime] = {}
    for name, when in calls.items():
        tensor, banded = partition.tensor(name), name != place_name(name)
        passing = banded and all(source.stored is not tensor for source in partition.plan.sources)
        steps = [step for number in when for step in _steps(partition, number, passing)]
        before = lives.get(place_name(name), Lifetime(0, steps[0], steps[0]))
        lives[place_name(name)] = Lifetime(
            max(before.size, maps[name].size_bytes), min(before.first, *steps), max(before.last, *steps), tensor.title
        )
    return lives


def _steps(partition: Partition, number: int, passing: bool) -> tuple[int, ...]:
    """The first and the last step in which a map is there for a call."""
    if not number:
        return (0,)
    if number > len(partition.calls):
        return (len(partition.plan.steps) + 1,)
    call = partition.calls[number - 1]
    return (call.step,) if passing else (call.steps[0], call.steps[-1])


def with_slack(partition: Partition, topology: Topology) -> dict[str, FeatureMap]:
    """Room for what whole wide rows spill, in maps that cross the ring."""
    plan = partition.plan
    copied = [index for index in partition.whole if copy_name(index) in partition.maps]
    stored = [*(source.stored for source in plan.sources), *(sink.stored for sink in plan.sinks)]
    maps, sizes = dict(partition.maps), (topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes)
    crossing = dict.fromkeys([*(tensor.index for tensor in stored), *copied])
    for name in (name for index in crossing for name in partition.maps_of(index)):
        maps[name] = with_room(maps[name], topology, partition.maps.get(copy_name(tensor_of(name))))
    for index in copied:
        map_, copy = maps[map_name(index)], maps[copy_name(index)]
        maps[copy_name(index)] = _roomy(copy, [copied_words(map_, copy, bits(copy.tiles)[0], *sizes)], sizes[1])
    return maps


def with_room(map_: FeatureMap, topology: Topology, copy: FeatureMap | None = None) -> FeatureMap:
    """A map that crosses the ring, to a ``copy`` if there is one, with room for what whole wide rows spill."""
    sizes = (topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes)
    parts = [sent_part for _, part in map_.parts() for sent_part in (part, part.block)]
    parts += [sent(map_, copy, tile) for tile in bits(map_.tiles)] if copy else []
    return _roomy(map_, [part_words(part, *sizes) for part in parts], sizes[1])


def _roomy(map_: FeatureMap, words: list[Traversal], word_bytes: int) -> FeatureMap:
    return replace(map_, slack_bytes=map_.slack_bytes + spill_bytes(map_, words, word_bytes))
