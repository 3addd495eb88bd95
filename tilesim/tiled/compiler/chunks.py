"""What of a layer's parameters is one set: those of some of its outputs, or of some inputs for them."""

from __future__ import annotations

from msgspec import Struct

from tilesim.network.graph import Node
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.input_parts import InputPart, input_parts
from tilesim.tiled.compiler.lower.convolution import block_weight_bytes, kernel_of
from tilesim.tiled.compiler.operators import traits_of
from tilesim.tiled.compiler.parameters import operand_stride
from tilesim.tiled.compiler.task import TileTask


class SetLimit(Struct, frozen=True):
    """No set has more than ``most_bytes`` if the layer's outputs can be made in several runs, each of a block of lanes
    or more. Blocks that need more are cut along their inputs where the sums between take no more than
    ``most_sum_bytes``.
    """

    most_bytes: int
    most_sum_bytes: int = 0


class Chunk(Struct, frozen=True):
    """Some outputs of a tile, from a ``part`` of their inputs if that is not None."""

    outputs: range
    part: InputPart | None = None


def chunks_of(task: TileTask, node: Node, made: FeatureMap, channels: range, limit: SetLimit | None) -> list[Chunk]:
    """A tile's outputs ``channels`` in runs of whole blocks of lanes, and each of them in parts if the limit wants it;
    the parts are alike in all tiles. ``made`` is the whole map.
    """
    if limit is None or not traits_of(node).in_chunks:
        return [Chunk(channels)]
    lanes, weights = task.topology.tile.lanes, task.constants[0]
    weight_bytes = block_weight_bytes(weights.shape, _groups(node), task.topology.tile)
    length = max(1, limit.most_bytes // (weight_bytes + task.parameter_bytes)) * lanes
    runs = [channels[k : k + length] for k in range(0, len(channels), length)]
    parts = _parts(task, node, made, limit)
    return [Chunk(outputs, part) for outputs in runs for part in (parts if len(parts) > 1 else [None])]


def _parts(task: TileTask, node: Node, made: FeatureMap, limit: SetLimit) -> list[InputPart]:
    """The parts of a block of lanes; none if its sums take too much, or several pixels stand side by side in lanes."""
    pixels = max(map(len, made.rows.blocks)) * max(map(len, made.columns.blocks))
    if made.pixels > 1 or pixels * task.sum_bytes > limit.most_sum_bytes:
        return []
    tile = task.topology.tile
    rows, columns, channels = kernel_of(task.inputs[0].shape, task.constants[0].shape, _groups(node))
    lanes = min(tile.lanes, made.block or made.shape.channels)
    row_bytes = columns * operand_stride(lanes, tile.inputs_per_cycle)
    words = -(-channels // tile.inputs_per_cycle)
    return input_parts(rows, words, row_bytes, limit.most_bytes - task.parameter_bytes)


def _groups(node: Node) -> int:
    return getattr(node.operator, "groups", 1)
