"""How the maps of a network are spread over the tiles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import or_

from msgspec import Struct, field
from msgspec.structs import replace

from tilesim.machines.policies import Wishes
from tilesim.network.graph import Node, Tensor
from tilesim.tiled.compiler import fusion
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.axis import NOTHING, Axis, hull
from tilesim.tiled.compiler.channels import Spread, Spreader, word_bytes
from tilesim.tiled.compiler.feature_map import FeatureMap, MapShape, band_name, copy_name, map_name, padded, tensor_of
from tilesim.tiled.compiler.lower.side_by_side import widened
from tilesim.tiled.compiler.operators import gathers, receptive_fields
from tilesim.tiled.compiler.pixel_lanes import PixelLanes
from tilesim.tiled.compiler.tile_plan import TilePlan
from tilesim.tiled.compiler.traits import ReceptiveField
from tilesim.tiled.isa.model.fields import bits
from tilesim.tiled.topology import Topology

DEFAULT = Wishes()


class Partition(Struct, dict=True):
    """The maps by name, without addresses, and what is to be done in turn.

    ``whole`` has each tensor as one map, with what the tiles own; ``maps`` has those of ``groups`` that are never whole
    cut in bands instead. ``spreads`` says how each tensor that a layer makes came to be spread as it is.
    """

    plan: TilePlan
    topology: Topology
    arrangement: Arrangement
    wishes: Wishes = DEFAULT
    copy_bytes: int = 0
    maps: dict[str, FeatureMap] = field(default_factory=dict)
    whole: dict[int, FeatureMap] = field(default_factory=dict)
    fused: list[fusion.FusedGroup] = field(default_factory=list)
    spreads: dict[int, Spread] = field(default_factory=dict)

    def read(self, node: Node, tensor: Tensor) -> str:
        """The name of the map in which a node that is in no group finds one of its inputs."""
        copy = copy_name(tensor.index)
        return copy if copy in self.maps and self.gathers(node, tensor) else map_name(tensor.index)

    def gathers(self, node: Node, tensor: Tensor) -> bool:
        """Whether the tiles that make some of a node's output need all of an input."""
        spread = self.spreads[node.output]
        if spread.keeps or spread.adds:
            return False
        by_channel = self.whole[tensor.index].block or self.made(node).block
        return bool(by_channel) or gathers(self.plan.network, node)

    def adds(self, node: Node) -> bool:
        """Whether tiles that have parts of a node's input sum them up."""
        return self.spreads[node.output].adds

    def made(self, node: Node) -> FeatureMap:
        """The whole of what a node makes."""
        return self.whole[node.output]

    @cached_property
    def turns(self) -> dict[int, int]:
        """Copies, by tensor, that are due to layers which are spread by channel, numbered as they are first read."""
        read = [
            (call.node, index) for call in self.calls for index, name in call.reads.items() if name == copy_name(index)
        ]
        needed = dict.fromkeys(index for node, index in read if self._by_channel(node, index))
        return {index: number for number, index in enumerate(needed)}

    def _by_channel(self, node: Node, index: int) -> bool:
        makes, made = self.spreads[node.output], self.spreads.get(index)
        return makes.leads or (made is not None and made.leads)

    def maps_of(self, index: int) -> list[str]:
        """The map of a tensor, or those of its bands."""
        fused = self._inside.get(index)
        if fused is None:
            return [map_name(index)]
        return [name for band in range(fused.group.bands) if (name := band_name(index, band)) in self.maps]

    def tensor(self, name: str) -> Tensor:
        """What a map, a copy or a band holds of."""
        return self.plan.network.tensors[tensor_of(name)]

    @cached_property
    def calls(self) -> list[fusion.LayerCall]:
        """The steps in their order, those of a group again in each of its bands."""
        groups = {fused.group.steps.start: fused for fused in self.fused}
        calls: list[fusion.LayerCall] = []
        step = 1
        while step <= len(self.plan.steps):
            fused = groups.get(step)
            calls += [self._call(step)] if fused is None else fusion.banded_calls(self.plan, fused, self.arrangement)
            step += 1 if fused is None else len(fused.group.steps)
        return calls

    @cached_property
    def _inside(self) -> dict[int, fusion.FusedGroup]:
        return {index: fused for fused in self.fused for index in fused.inner}

    def _call(self, step: int) -> fusion.LayerCall:
        layer, node = self.plan.steps[step - 1]
        reads = {tensor.index: self.read(node, tensor) for tensor in self.plan.activations(node)}
        return fusion.LayerCall(step, layer, node, reads, map_name(node.output), self.made(node).tiles)


def partition_network(
    plan: TilePlan,
    topology: Topology,
    groups: Sequence[fusion.FusionGroup] = (),
    wishes: Wishes = DEFAULT,
    copy_bytes: int = 0,
    arrangement: Arrangement | None = None,
) -> Partition:
    """Spread every stored tensor: maps over the grid, the outputs of fully connected layers and what is asked for by
    channel, what one layer reads whole in a copy for each tile that does; those inside ``groups`` are cut in bands.
    Copies for convolutions that are spread by channel take at most ``copy_bytes``.
    """
    partition = Partition(plan, topology, arrangement or Arrangement.plain(topology.grid), wishes, copy_bytes)
    for source in plan.sources:
        partition.whole[source.stored.index] = _bare(partition, source.stored, 0)
    spreader = Spreader(plan, topology, wishes, copy_bytes, partition.whole, partition.spreads)
    for layer, node in plan.steps:
        partition.spreads[node.output] = spread = spreader.spread(layer, node)
        bare = _bare(partition, plan.network.tensors[node.output], spread.block)
        partition.whole[node.output] = bare if spread.block else _following(partition, node, bare)
    lanes = PixelLanes(plan, topology, wishes)
    for _, node in plan.steps:
        made = partition.made(node)
        partition.whole[node.output] = replace(made, pixels=lanes.pixels(node, made))
    for source in plan.sources:
        _settle_source(partition, source.stored)
    for index in (index for index, spread in partition.spreads.items() if spread.adds):
        _settle_total(partition, index)
    partition.fused = [fusion.fuse(plan, partition.whole, group) for group in groups]
    inner = {index for fused in partition.fused for index in fused.inner}
    real = [index for index in partition.whole if index not in inner]
    partition.maps = {map_name(index): partition.whole[index] for index in real}
    for index in real:
        _settle(partition, index)
    for fused in partition.fused:
        for index in fused.inner:
            bands = fused.cut(index, partition.whole[index])
            partition.maps.update({band_name(index, band): map_ for band, map_ in bands.items()})
    return partition


def _bare(partition: Partition, tensor: Tensor, block: int) -> FeatureMap:
    """A map over the grid, or by ``block`` channels over the first tiles; nobody needs more than they own yet."""
    shape, grid = MapShape.of_tensor(tensor), partition.arrangement
    if block:
        return _everywhere(partition, shape, (1 << -(-shape.channels // block)) - 1, block)
    return _map(partition, shape, Axis.cut(shape.height, grid.rows), Axis.cut(shape.width, grid.columns))


def _following(partition: Partition, node: Node, bare: FeatureMap) -> FeatureMap:
    """The map that a node makes, where one of its input's rows (columns) at most is in each row (column) of the grid
    and it strides over them: then what it makes stays where it is read.
    """
    plan, source = partition.plan, partition.plan.activations(node)[0]
    before = partition.whole[source.index]
    if before.block or any(from_outside.stored is source for from_outside in plan.sources):
        return bare
    sides = zip((before.rows, before.columns), (bare.rows, bare.columns), strict=True)
    down, across = (
        Axis.thinned(old.own, window.stride, new.size) or new.own
        for (old, new), window in zip(sides, receptive_fields(plan.network, node), strict=True)
    )
    return _map(partition, bare.shape, down, across)


def _map(
    partition: Partition,
    shape: MapShape,
    rows: fusion.Spans,
    columns: fusion.Spans,
    tiles: int | None = None,
    block: int = 0,
) -> FeatureMap:
    """In ``tiles``, or those at whose places of the grid there is something."""
    down, across = (
        Axis(size, own, *((NOTHING,) * len(own),) * 2) for size, own in ((shape.height, rows), (shape.width, columns))
    )
    pixel_bytes = padded(block or shape.channels, word_bytes(partition.topology)) * shape.element_bytes
    places = partition.arrangement
    used = fusion.tiles_of(places, rows, columns) if tiles is None else tiles
    return FeatureMap(shape, down, across, used, pixel_bytes, places, block)


def _everywhere(partition: Partition, shape: MapShape, tiles: int, block: int = 0) -> FeatureMap:
    """All rows and columns in each of some tiles."""
    grid = partition.arrangement
    rows, columns = (range(shape.height),) * grid.rows, (range(shape.width),) * grid.columns
    return _map(partition, shape, rows, columns, tiles, block)


def _settle_source(partition: Partition, tensor: Tensor) -> None:
    """An input that is only read whole comes whole to each tile that reads it; another is cut as its readers stride."""
    network, index, grid = partition.plan.network, tensor.index, partition.arrangement
    readers, shape = partition.plan.readers(index), partition.whole[index].shape
    if readers and all(partition.gathers(reader, tensor) for reader in readers):
        partition.whole[index] = _whole(partition, shape, readers)
        return
    near = [reader for reader in readers if not (partition.gathers(reader, tensor) or partition.adds(reader))]
    spatial = [(partition.made(reader), receptive_fields(network, reader)) for reader in near]
    rows = _aligned(shape.height, grid.rows, [(made.rows, down) for made, (down, _) in spatial])
    columns = _aligned(shape.width, grid.columns, [(made.columns, across) for made, (_, across) in spatial])
    partition.whole[index] = _map(partition, shape, rows, columns)


def _settle_total(partition: Partition, index: int) -> None:
    """A pixel of sums is made by each tile that reads it, if they all read it whole; with a word that its tensorop
    reads and nobody writes.
    """
    readers, map_ = partition.plan.readers(index), partition.whole[index]
    if readers and all(gathers(partition.plan.network, reader) for reader in readers):
        map_ = _whole(partition, map_.shape, readers)
    partition.whole[index] = replace(map_, slack_bytes=word_bytes(partition.topology))


def _aligned(size: int, parts: int, readers: list[tuple[Axis, ReceptiveField]]) -> fusion.Spans:
    """Blocks that are those of all readers times their stride, if there are such."""
    blocks = {window.stride * len(made.blocks[0]) for made, window in readers}
    length = blocks.pop() if len(blocks) == 1 else 0
    return Axis.cut(size, parts, length if length * parts >= size else 0)


def _whole(partition: Partition, shape: MapShape, readers: list[Node]) -> FeatureMap:
    return _everywhere(partition, shape, reduce(or_, (partition.made(reader).tiles for reader in readers)))


def _settle(partition: Partition, index: int) -> None:
    """What a map's readers need, in it or in a copy."""
    map_, readers = partition.whole[index], partition.plan.readers(index)
    tensor = partition.plan.network.tensors[index]
    whole = [reader for reader in readers if partition.gathers(reader, tensor)]
    apart = [reader for reader in whole if not _has_all(map_, partition.made(reader).tiles)]
    if apart:
        copy = _needed(partition, _whole(partition, map_.shape, whole), whole)
        partition.maps[copy_name(index)] = replace(
            copy, rows=_padded(copy.rows, map_.rows), columns=_padded(copy.columns, map_.columns)
        )
        readers = [reader for reader in readers if reader not in whole]
    readers = [reader for reader in readers if not partition.adds(reader)]
    for fused in partition.fused:
        map_ = fused.feeding(index, map_)
    partition.maps[map_name(index)] = _needed(partition, map_, readers)


def _padded(axis: Axis, parts: Axis) -> Axis:
    """The axis of a copy with room for the blocks of all parts, whole ones."""
    end = max(block.stop for block in parts.blocks)
    return replace(axis, reach=tuple(hull((reach, range(end))) for reach in axis.reach))


def _has_all(map_: FeatureMap, tiles: int) -> bool:
    return not tiles & ~map_.tiles and all(map_.part(tile).whole for tile in bits(tiles))


def _needed(partition: Partition, map_: FeatureMap, readers: list[Node]) -> FeatureMap:
    """The map with what its readers that are in no group need at each place of the grid."""
    rows, columns = map_.rows, map_.columns
    grouped = {id(node) for fused in partition.fused for node in fusion.nodes_of(partition.plan, fused.group.steps)}
    for reader in (reader for reader in readers if id(reader) not in grouped):
        made, (down, across) = partition.made(reader), receptive_fields(partition.plan.network, reader)
        rows, columns = _grown(rows, down, made.rows), _grown(columns, across, made.columns, made.pixels)
    return replace(map_, rows=rows, columns=columns)


def _grown(axis: Axis, window: ReceptiveField, made: Axis, pixels: int = 1) -> Axis:
    """The axis with what one more reader needs, which makes so many ``pixels`` of a row at once."""
    grown = axis.with_need(tuple(window.need(own, axis.size) for own in made.own))
    blocks = (widened(block, pixels) for block in made.blocks)
    return grown.with_reach(tuple(window.reads(block) if window.border else NOTHING for block in blocks))
