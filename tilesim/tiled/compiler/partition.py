"""How the maps of a network are spread over the tiles."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilesim.network.graph import Node, Tensor
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.tiled.compiler.axis import NOTHING, Axis, hull
from tilesim.tiled.compiler.feature_map import FeatureMap, Shape, bitmap_of, bits, padded
from tilesim.tiled.compiler.outline import Outline
from tilesim.tiled.compiler.spread import Layer, outputs_per_tile, tiles_for
from tilesim.tiled.compiler.windows import Window, gathers, windows
from tilesim.tiled.topology import Topology


def map_name(index: int) -> str:
    """A tensor where the layer that makes it leaves it."""
    return f"tensor{index}"


def copy_name(index: int) -> str:
    """A tensor gathered whole in each tile that reads all of it."""
    return f"copy{index}"


@dataclass
class Partition:
    """The maps by name, without addresses."""

    plan: Outline
    topology: Topology
    maps: dict[str, FeatureMap] = field(default_factory=dict)

    def read(self, node: Node, tensor: Tensor) -> str:
        """The name of the map in which a node finds one of its inputs."""
        copy = copy_name(tensor.index)
        return copy if copy in self.maps and gathers(self.plan.network, node) else map_name(tensor.index)

    def made(self, node: Node) -> FeatureMap:
        return self.maps[map_name(node.output)]


def partition(plan: Outline, topology: Topology) -> Partition:
    """Spread every stored tensor: maps over the grid, the outputs of fully connected layers by channel, what one layer
    reads whole in a copy for each tile that does.
    """
    found = Partition(plan, topology)
    for source in plan.sources:
        found.maps[map_name(source.stored.index)] = _bare(found, source.stored, 0, delivered=True)
    for _, node in plan.steps:
        output = plan.network.tensors[node.output]
        found.maps[map_name(output.index)] = _bare(found, output, _tiles(found, node), delivered=False)
    for source in plan.sources:
        _settle_source(found, source.stored)
    for name in list(found.maps):
        _settle(found, int(name.removeprefix("tensor")))
    return found


def _readers(plan: Outline, index: int) -> list[Node]:
    return [node for _, node in plan.steps if any(tensor.index == index for tensor in plan.activations(node))]


def _tiles(found: Partition, node: Node) -> int:
    """How many tiles a fully connected layer is spread over; 0 for others, which follow the grid."""
    plan = found.plan
    if not isinstance(node.operator, FullyConnected):
        return 0
    [source] = plan.activations(node)
    readers = _readers(plan, node.output)
    if not all(gathers(plan.network, reader) for reader in readers):
        return 1
    spread = found.maps[map_name(source.index)].tiles.bit_count() > 1
    from_host = any(each.stored is source for each in plan.sources)
    outputs = Shape.of(plan.network.tensors[node.output].shape).channels
    layer = Layer(Shape.of(source.shape), outputs, spread or from_host, leaves=not readers)
    return tiles_for(layer, found.topology)


def _bare(found: Partition, tensor: Tensor, tiles: int, *, delivered: bool) -> FeatureMap:
    """A map over the grid, or by channel over the first ``tiles`` tiles; nobody needs more than they own yet."""
    shape, grid, lanes = Shape.of(tensor.shape), found.topology.grid, found.topology.tile.lanes
    if tiles > 1 and not delivered:
        block = outputs_per_tile(shape.channels, tiles, lanes)
        used = (1 << -(-shape.channels // block)) - 1
        return _map(found, shape, _everywhere(1, grid.rows), _everywhere(1, grid.columns), used, block)
    return _over_grid(found, shape, Axis.cut(shape.height, grid.rows), Axis.cut(shape.width, grid.columns))


def _over_grid(found: Partition, shape: Shape, rows: tuple[range, ...], columns: tuple[range, ...]) -> FeatureMap:
    used = [i * len(columns) + j for i, down in enumerate(rows) for j, across in enumerate(columns) if down and across]
    return _map(found, shape, rows, columns, bitmap_of(used))


def _everywhere(size: int, parts: int) -> tuple[range, ...]:
    return (range(size),) * parts


def _map(
    found: Partition,
    shape: Shape,
    rows: tuple[range, ...],
    columns: tuple[range, ...],
    tiles: int,
    block: int = 0,
) -> FeatureMap:
    word = max(found.topology.narrow_memory.word_bytes, found.topology.tile.vector_bytes)
    down, across = (
        Axis(size, own, *((NOTHING,) * len(own),) * 2) for size, own in ((shape.height, rows), (shape.width, columns))
    )
    return FeatureMap(shape, down, across, tiles, padded(block or shape.channels, word), block)


def _settle_source(found: Partition, tensor: Tensor) -> None:
    """An input that is only read whole comes whole to each tile that reads it; another is cut as its readers stride."""
    network, name, grid = found.plan.network, map_name(tensor.index), found.topology.grid
    readers, shape = _readers(found.plan, tensor.index), found.maps[name].shape
    if readers and all(gathers(network, reader) for reader in readers):
        found.maps[name] = _whole(found, shape, readers)
        return
    spatial = [(found.made(reader), windows(network, reader)) for reader in readers if not gathers(network, reader)]
    rows = _aligned(shape.height, grid.rows, [(made.rows, down) for made, (down, _) in spatial])
    columns = _aligned(shape.width, grid.columns, [(made.columns, across) for made, (_, across) in spatial])
    found.maps[name] = _over_grid(found, shape, rows, columns)


def _aligned(size: int, parts: int, readers: list[tuple[Axis, Window]]) -> tuple[range, ...]:
    """Blocks that are those of all readers times their stride, if there are such."""
    blocks = {window.stride * len(made.blocks[0]) for made, window in readers}
    each = blocks.pop() if len(blocks) == 1 else 0
    return Axis.cut(size, parts, each if each * parts >= size else 0)


def _whole(found: Partition, shape: Shape, readers: list[Node]) -> FeatureMap:
    grid, tiles = found.topology.grid, 0
    for reader in readers:
        tiles |= found.made(reader).tiles
    return _map(found, shape, _everywhere(shape.height, grid.rows), _everywhere(shape.width, grid.columns), tiles)


def _settle(found: Partition, index: int) -> None:
    """What a map's readers need, in it or in a copy."""
    name, network = map_name(index), found.plan.network
    map_, readers = found.maps[name], _readers(found.plan, index)
    whole = [reader for reader in readers if gathers(network, reader)]
    apart = [reader for reader in whole if not _has_all(map_, found.made(reader).tiles)]
    if apart:
        copy = _needed(found, _whole(found, map_.shape, whole), whole)
        found.maps[copy_name(index)] = replace(
            copy, rows=_padded(copy.rows, map_.rows), columns=_padded(copy.columns, map_.columns)
        )
        readers = [reader for reader in readers if reader not in whole]
    found.maps[name] = _needed(found, map_, readers)


def _padded(axis: Axis, parts: Axis) -> Axis:
    """The axis of a copy with room for the blocks of all parts, whole ones."""
    end = max(block.stop for block in parts.blocks)
    return replace(axis, reach=tuple(hull((reach, range(end))) for reach in axis.reach))


def _has_all(map_: FeatureMap, tiles: int) -> bool:
    return not tiles & ~map_.tiles and all(map_.part(tile).whole for tile in bits(tiles))


def _needed(found: Partition, map_: FeatureMap, readers: list[Node]) -> FeatureMap:
    """The map with what its readers need at each place of the grid."""
    rows, columns = map_.rows, map_.columns
    for reader in readers:
        made, (down, across) = found.made(reader), windows(found.plan.network, reader)
        rows, columns = _grown(rows, down, made.rows), _grown(columns, across, made.columns)
    return replace(map_, rows=rows, columns=columns)


def _grown(axis: Axis, window: Window, made: Axis) -> Axis:
    """The axis with what one more reader needs."""
    need = (window.need(own, axis.size) for own in made.own)
    reach = (window.reads(block) if window.border else NOTHING for block in made.blocks)
    return replace(
        axis,
        need=tuple(hull(both) for both in zip(axis.need, need, strict=True)),
        reach=tuple(hull(both) for both in zip(axis.reach, reach, strict=True)),
    )
