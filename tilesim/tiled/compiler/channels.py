"""Which layers are spread by their output channels, over how many tiles, and why others are not; fully connected ones
by their outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from msgspec import Struct, field

from tilesim.machines.policies import CHANNEL, ONE, SPATIAL, Wishes
from tilesim.network.graph import Node
from tilesim.network.operators import Convolution, DepthwiseConvolution
from tilesim.tiled.caching import blocks_per_tile
from tilesim.tiled.compiler.feature_map import FeatureMap, MapShape, padded
from tilesim.tiled.compiler.lower.totals import is_total, sums_block, sums_rows
from tilesim.tiled.compiler.operators import gathers, spreads, traits_of
from tilesim.tiled.compiler.parameters import parameter_registers
from tilesim.tiled.compiler.rows import rows_for
from tilesim.tiled.compiler.sums_cycles import SEND_CYCLES, exchange
from tilesim.tiled.compiler.tile_plan import TilePlan
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes

IN_ONE_TILE = "one tile is asked for"
"""Why a layer is there that is to be."""


class Spread(Struct, frozen=True):
    """How a layer is spread: ``block`` channels a tile, or over rows and columns (0), for a ``reason``.

    It ``keeps`` to the tiles that have its input's channels, of which nothing has to move then. If it ``leads``, the
    layers behind it may do so. If it ``adds``, each tile sums up its own part of the input, and those who read the
    layer add up the sums.
    """

    block: int
    reason: str
    keeps: bool = False
    leads: bool = False
    adds: bool = False

    @property
    def choice(self) -> str:
        return CHANNEL if self.block else SPATIAL


class Spreader(Struct, frozen=True):
    """Decides step by step, knowing the maps and spreads of all tensors before. A whole copy of a layer's input takes
    at most ``copy_bytes`` of a tile's narrow memory.
    """

    plan: TilePlan
    topology: Topology
    wishes: Wishes
    copy_bytes: int
    maps: Mapping[int, FeatureMap]
    spreads: Mapping[int, Spread]
    _largest: dict[int, int] = field(default_factory=dict)

    def spread(self, layer: int, node: Node) -> Spread:
        wish = self.wishes.of(layer)
        if spreads(self.plan.network, node):
            return Spread(0, IN_ONE_TILE) if wish == ONE else self._by_outputs(node, leads=wish == CHANNEL)
        if self.wishes.layers.get(layer) == SPATIAL:
            return Spread(0, "asked for")
        return self._adding(node) or self._moving(node, wish)

    def _moving(self, node: Node, wish: str) -> Spread:
        if traits_of(node).channel_wise:
            return self._channel_wise(node)
        if wish != CHANNEL:
            return Spread(0, "nothing else is asked for")
        if isinstance(node.operator, Convolution):
            return self._convolution(node, node.operator)
        return Spread(0, f"a layer of the kind {node.kind} moves channels")

    def _by_outputs(self, node: Node, *, leads: bool) -> Spread:
        """A fully connected layer, or what is one in effect: in one tile where that is not slower, by estimate. Source:
        US 2025/0265455 [0050], [0058].
        """
        tiles, outputs = self._tiles(node), self._shape(node).channels
        if tiles < 2:
            return Spread(0, "one tile is the fastest for a vector, by estimate")
        block = outputs_per_tile(outputs, tiles, self.topology.tile.lanes)
        return Spread(block, f"{block} outputs a tile are the fastest for a vector, by estimate", leads=leads)

    def _tiles(self, node: Node) -> int:
        """How many tiles make the outputs of a layer that reads everything."""
        plan = self.plan
        [source] = plan.activations(node)
        readers = self.plan.readers(node.output)
        if not all(gathers(plan.network, reader) for reader in readers):
            return 1
        spread = self.maps[source.index].tiles.bit_count() > 1
        arrives = source.index in self.spreads and self.spreads[source.index].adds
        from_host = arrives or any(from_outside.stored is source for from_outside in plan.sources)
        outputs = self._shape(node).channels
        shape = MapShape.of_tensor(source)
        return tiles_for(shape, outputs, self.topology, delivered=spread or from_host, leaves=not readers)

    def _adding(self, node: Node) -> Spread | None:
        """Whether tiles are to sum up their own parts of the input, so that not the parts have to move but the sums."""
        of_words = self.plan.network.tensors[node.inputs[0]].dtype.itemsize > 1
        if not self.wishes.mixed or of_words or not is_total(self.plan.network, node):
            return None
        source = self.maps[self.plan.activations(node)[0].index]
        block = sums_block(source.pixel_bytes, self.topology)
        parts = [part for _, part in source.parts()]
        if source.block or not block or len(parts) < 2 or not self._has_loops(source, block):
            return None
        wide, words = self.topology.wide_memory, source.pixel_bytes // self._word
        sums = sums_rows(source.pixel_bytes // block, self.topology)
        sent = max(rows_for(part.block, wide.row_bytes) for part in parts)
        largest = max(len(part.rows) * len(part.columns) for part in parts)
        adding = largest * words + exchange(len(parts), sums)
        gathering = (len(parts) + 1) * sent * wide.row_bytes // self._word + source.shape.pixels * words
        if adding >= gathering:
            return None
        return Spread(0, "the sums of its input's parts are less to move than these, by estimate", adds=True)

    def _has_loops(self, source: FeatureMap, block: int) -> bool:
        """Whether a tile has loops enough for its sums: those over lanes and over more than one of anything else."""
        rows, columns = (max(map(len, axis.own)) for axis in (source.rows, source.columns))
        bounds = (source.pixel_bytes // block, rows, columns, block // self._word)
        return 1 + sum(bound > 1 for bound in bounds) <= self.topology.tile.loop_depth

    def _channel_wise(self, node: Node) -> Spread:
        """Where its inputs' channels are, if they are together."""
        inputs = self.plan.activations(node)
        leading = [tensor.index in self.spreads and self.spreads[tensor.index].leads for tensor in inputs]
        places = {(self.maps[tensor.index].block, self.maps[tensor.index].tiles) for tensor in inputs}
        if not any(leading):
            return Spread(0, "it follows the grid, as its input does")
        if not all(leading) or len(places) > 1:
            return Spread(0, "its inputs are spread in different ways")
        [(block, tiles)] = places
        shape, source = self._shape(node), MapShape.of(inputs[0].shape)
        if shape.channels != source.channels:
            return Spread(0, f"it makes {shape.channels} channels of {source.channels}")
        if shape.pixels > 1 and block * tiles.bit_count() != padded(shape.channels, self._word):
            return Spread(0, f"the {shape.channels} channels of its input are cut in unequal blocks")
        return Spread(block, f"its input's channels are there, {block} in each tile", keeps=True, leads=True)

    def _convolution(self, node: Node, op: Convolution) -> Spread:
        [source] = self.plan.activations(node)
        if op.groups > 1:
            return Spread(0, "its outputs read different channels, a group each")
        for what, size in (("its input", self._bytes(source.index)), ("what it makes", self._copied(node.output))):
            if size > self.copy_bytes:
                return Spread(0, f"{what}, {format_bytes(size)}, is too much for every tile to have whole")
        block = channels_per_tile(self._shape(node), self._taps(node), self.topology)
        if not block:
            return Spread(0, f"its {self._shape(node).channels} channels make no equal blocks of whole words")
        return Spread(block, f"{block} channels a tile", leads=True)

    def _bytes(self, index: int) -> int:
        """Bytes of a whole map."""
        shape = MapShape.of_tensor(self.plan.network.tensors[index])
        return shape.pixels * padded(shape.channels, self._word) * shape.element_bytes

    def _copied(self, index: int) -> int:
        """Bytes of the largest copy that somebody may need of a tensor that is spread by channel, or of what the layers
        behind make of it on the same tiles.
        """
        if index not in self._largest:
            readers = self.plan.readers(index)
            gather = any(
                not traits_of(reader).channel_wise or len(self.plan.activations(reader)) > 1 for reader in readers
            )
            behind = [self._copied(reader.output) for reader in readers if traits_of(reader).channel_wise]
            self._largest[index] = max(self._bytes(index) if gather else 0, *behind, 0)
        return self._largest[index]

    def _taps(self, node: Node) -> int:
        """The most steps that a layer behind, on the same tiles, takes for a word."""
        kernels = [
            self.plan.network.tensors[reader.inputs[1]].shape[:2]
            for reader in self.plan.readers(node.output)
            if isinstance(reader.operator, DepthwiseConvolution)
        ]
        return max(map(prod, kernels), default=1)

    def _shape(self, node: Node) -> MapShape:
        return MapShape.of(self.plan.network.tensors[node.output].shape)

    @property
    def _word(self) -> int:
        return word_bytes(self.topology)


def word_bytes(topology: Topology) -> int:
    """What the channels of a pixel are padded to."""
    return max(topology.narrow_memory.word_bytes, topology.tile.vector_bytes)


def channels_per_tile(shape: MapShape, taps: int, topology: Topology) -> int:
    """Equal blocks of channels, whole words, with the fewest cycles by estimate, for readers that take ``taps`` steps
    for each word; 0 if there are no two.

    Maps of one shape with such readers are cut alike, whatever makes them, so that they can be added where they lie.
    """
    words = padded(shape.channels, word_bytes(topology)) // word_bytes(topology)
    counts = [tiles for tiles in range(2, min(words, topology.tiles) + 1) if words % tiles == 0]
    best = min(counts, key=lambda tiles: (_cycles(shape, taps, tiles, words // tiles, topology), tiles), default=0)
    return words // best * word_bytes(topology) if best else 0


def _cycles(shape: MapShape, taps: int, tiles: int, words: int, topology: Topology) -> int:
    """About what a tile takes to make its words of each pixel from as many channels, and to get the others' too."""
    block, wide = words * word_bytes(topology), topology.wide_memory
    turns = -(-block // topology.tile.lanes)
    computing = shape.pixels * turns * -(-shape.channels // topology.tile.inputs_per_cycle)
    rows = -(-shape.pixels * block // wide.row_bytes)
    getting = tiles * (rows * wide.row_bytes // topology.narrow_memory.word_bytes + SEND_CYCLES)
    return computing + getting + shape.pixels * words * taps


def tiles_for(source: MapShape, outputs: int, topology: Topology, *, delivered: bool, leaves: bool) -> int:
    """The number of tiles with the fewest cycles, by estimate, for a fully connected layer: blocks of lanes in turn and
    what it takes to bring the inputs there, unless they are ``delivered`` in any case, and the outputs together again,
    unless they leave the chip. At least as many as the parameters fit in; all if they fit in none.
    """
    wide, lanes, inputs = topology.wide_memory, topology.tile.lanes, topology.tile.inputs_per_cycle
    row_words = wide.row_bytes // topology.narrow_memory.word_bytes
    blocks, block_cycles = -(-outputs // lanes), source.pixels * -(-source.channels // inputs)

    def cycles(tiles: int) -> int:
        computing = -(-blocks // tiles) * block_cycles
        if tiles > 1:
            inward = 0 if delivered else 1 + _rows(source, topology)
            outward = 1 if leaves else 1 + tiles
            return computing + (inward + outward) * row_words + SEND_CYCLES * tiles
        made = MapShape(1, 1, outputs, source.element_bytes)
        return computing + (_rows(made, topology) * row_words if leaves else 0)

    block_bytes = block_cycles * topology.macs_per_cycle + parameter_registers(source.element_bytes) * wide.row_bytes
    keeping = blocks_per_tile(blocks, block_bytes, [wide.size_bytes - wide.reserve_bytes] * topology.tiles)
    most = min(blocks, topology.tiles)
    return min(range(len(keeping) or most, most + 1), key=lambda tiles: (cycles(tiles), tiles))


def outputs_per_tile(outputs: int, tiles: int, lanes: int) -> int:
    """Whole blocks of lanes."""
    blocks = -(-outputs // lanes)
    return -(-blocks // tiles) * lanes


def _rows(shape: MapShape, topology: Topology) -> int:
    pixel_bytes = padded(shape.channels, topology.narrow_memory.word_bytes) * shape.element_bytes
    return -(-shape.pixels * pixel_bytes // topology.wide_memory.row_bytes)
