"""Over how many tiles a fully connected layer is spread by its outputs."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.tiled.compiler.feature_map import Shape, padded
from tilesim.tiled.topology import Topology

SEND_CYCLES = 4
"""About what a master takes for a row on the ring, with its turn."""


@dataclass(frozen=True)
class Layer:
    """A fully connected layer: its input map, its outputs, whether the tiles that need the input get it in any case,
    and whether the outputs leave the chip.
    """

    source: Shape
    outputs: int
    delivered: bool
    leaves: bool


def tiles_for(layer: Layer, topology: Topology) -> int:
    """The number of tiles with the fewest cycles, by estimate: blocks of lanes in turn, and what it takes to bring the
    inputs there and the outputs together again. More tiles if the weights don't fit fewer.
    """
    blocks = -(-layer.outputs // topology.tile.lanes)
    return min(
        range(1, min(blocks, topology.tiles) + 1), key=lambda tiles: (*_cycles(layer, blocks, tiles, topology), tiles)
    )


def outputs_per_tile(outputs: int, tiles: int, lanes: int) -> int:
    """Whole blocks of lanes."""
    blocks = -(-outputs // lanes)
    return -(-blocks // tiles) * lanes


def _cycles(layer: Layer, blocks: int, tiles: int, topology: Topology) -> tuple[int, int]:
    """Bytes that don't fit a tile's wide memory, then cycles."""
    wide, narrow = topology.wide_memory, topology.narrow_memory
    steps = layer.source.pixels * -(-layer.source.channels // topology.tile.inputs_per_cycle)
    turns = -(-blocks // tiles)
    row_words = wide.row_bytes // narrow.word_bytes
    cycles = turns * steps
    if tiles > 1:
        inward = 0 if layer.delivered else 1 + _rows(layer.source, topology)
        outward = 1 if layer.leaves else 1 + tiles
        cycles += (inward + outward) * row_words + SEND_CYCLES * tiles
    elif layer.leaves:
        cycles += _rows(Shape(1, 1, layer.outputs), topology) * row_words
    missing = max(0, turns * (steps + 1) * topology.macs_per_cycle - wide.size_bytes)
    return missing, cycles


def _rows(shape: Shape, topology: Topology) -> int:
    pixel_bytes = padded(shape.channels, topology.narrow_memory.word_bytes)
    return -(-shape.pixels * pixel_bytes // topology.wide_memory.row_bytes)
