"""Over how many tiles a fully connected layer is spread by its outputs."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.tiled.caching import blocks_per_tile
from tilesim.tiled.compiler.feature_map import MapShape, padded
from tilesim.tiled.topology import Topology

SEND_CYCLES = 4
"""About what a master takes for a row on the ring, with its turn."""


@dataclass(frozen=True)
class DenseLayer:
    """A fully connected layer: its input map, its outputs, whether the tiles that need the input get it in any case,
    and whether the outputs leave the chip.
    """

    source: MapShape
    outputs: int
    delivered: bool
    leaves: bool


def tiles_for(layer: DenseLayer, topology: Topology) -> int:
    """The number of tiles with the fewest cycles, by estimate: blocks of lanes in turn, and what it takes to bring the
    inputs there and the outputs together again. At least as many as the parameters fit in; all if they fit in none.
    """
    blocks = -(-layer.outputs // topology.tile.lanes)
    most = min(blocks, topology.tiles)
    fewest = len(_held(layer, blocks, topology)) or most
    return min(range(fewest, most + 1), key=lambda tiles: (_cycles(layer, blocks, tiles, topology), tiles))


def outputs_per_tile(outputs: int, tiles: int, lanes: int) -> int:
    """Whole blocks of lanes."""
    blocks = -(-outputs // lanes)
    return -(-blocks // tiles) * lanes


def _held(layer: DenseLayer, blocks: int, topology: Topology) -> dict[int, int]:
    """The blocks that each tile keeps if as few as can be keep the layer's parameters, and nothing else."""
    wide = topology.wide_memory
    block_bytes = _steps(layer, topology) * topology.macs_per_cycle + 3 * wide.row_bytes
    return blocks_per_tile(blocks, block_bytes, [wide.size_bytes - wide.reserve_bytes] * topology.tiles)


def _steps(layer: DenseLayer, topology: Topology) -> int:
    """Cycles for one block of lanes."""
    return layer.source.pixels * -(-layer.source.channels // topology.tile.inputs_per_cycle)


def _cycles(layer: DenseLayer, blocks: int, tiles: int, topology: Topology) -> int:
    wide, narrow = topology.wide_memory, topology.narrow_memory
    row_words = wide.row_bytes // narrow.word_bytes
    cycles = -(-blocks // tiles) * _steps(layer, topology)
    if tiles > 1:
        inward = 0 if layer.delivered else 1 + _rows(layer.source, topology)
        outward = 1 if layer.leaves else 1 + tiles
        cycles += (inward + outward) * row_words + SEND_CYCLES * tiles
    elif layer.leaves:
        cycles += _rows(MapShape(1, 1, layer.outputs), topology) * row_words
    return cycles


def _rows(shape: MapShape, topology: Topology) -> int:
    pixel_bytes = padded(shape.channels, topology.narrow_memory.word_bytes)
    return -(-shape.pixels * pixel_bytes // topology.wide_memory.row_bytes)
