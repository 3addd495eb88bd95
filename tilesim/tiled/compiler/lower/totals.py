"""Means over a whole map whose parts lie in several tiles: sums of each part, channel by channel in the lanes, which
leave as rows of int32; and their total, requantised.

The MAC array multiplies by one or by nothing: lane k picks byte k of a block of channels, in as many steps as a vector
operation takes, and has all sums of the block in one row; then the rows of all tiles are added in the reduction loop of
a tensorop that multiplies by nothing. Sums of int32 are the same in whatever order.
"""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

import numpy as np

from tilesim.arithmetic.requantise import wide_bits
from tilesim.network.graph import Network, Node
from tilesim.network.operators import AveragePool, Mean
from tilesim.tiled.compiler.feature_map import MapShape
from tilesim.tiled.compiler.lower.convolution import channel_block
from tilesim.tiled.compiler.parameters import (
    lane_weights,
    operand_stride,
    parameter_registers,
    requantisation_values,
)
from tilesim.tiled.compiler.task import Level, NestWriter, TileTask
from tilesim.tiled.isa.model.fields import Reference
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.topology import LANE_BYTES, Topology

Averaging: TypeAlias = Mean | AveragePool


def is_total(network: Network, node: Node) -> bool:
    """Whether a node makes one pixel from integer sums over a whole map. A pool in float32 does not: the order of its
    additions counts.
    """
    op, source = node.operator, MapShape.of(network.tensors[node.inputs[0]].shape)
    if isinstance(op, Mean):
        return True
    if not isinstance(op, AveragePool) or op.rule == "real" or any(op.padding):
        return False
    return op.window == (source.height, source.width)


def sums_block(pixel_bytes: int, topology: Topology) -> int:
    """Channels whose sums leave at once: the most that divide a pixel; 0 if the array's words don't, or if the sums of
    all lanes take more than a row.
    """
    tile, row_bytes = topology.tile, topology.wide_memory.row_bytes
    if tile.register_bytes > row_bytes:
        return 0
    inputs = tile.inputs_per_cycle
    most = min(tile.lanes, row_bytes // LANE_BYTES, row_bytes // inputs) // inputs
    return 0 if pixel_bytes % inputs or not most else channel_block(pixel_bytes // inputs, most) * inputs


def sums_rows(blocks: int, topology: Topology) -> int:
    """Rows, which are what goes over the ring, of the sums of so many blocks."""
    return -(-blocks * topology.tile.register_bytes // topology.wide_memory.row_bytes)


def lower_sums(task: TileTask, op: Averaging, block: int) -> TensorOp:
    """The sums of a tile's own pixels, a register a ``block``. Loops: block; row, column and word inside."""
    source, tile = task.inputs[0], task.topology.tile
    inputs = tile.inputs_per_cycle
    step = operand_stride(block, inputs)
    nest = NestWriter(
        [
            Level("zb", source.pixel_bytes // block, {"input": block, "sums": tile.register_bytes}),
            Level("ky", len(source.rows), {"input": source.row_bytes}, reduce=True),
            Level("kx", len(source.columns), {"input": source.pixel_bytes}, reduce=True),
            Level("zi", block // inputs, {"input": inputs, "weights": step}, reduce=True),
            Level("lane", block, {}),
        ]
    )
    identity = np.eye(block, dtype=np.int8).reshape(block, 1, 1, block)
    weights = task.keep("weights", lambda: lane_weights(identity, block, inputs, 0), tile.operand_bytes)
    return TensorOp(
        tiles=0,
        operation=Operation.CONVOLUTION,
        nest=nest.nest,
        reduce=nest.reduce,
        input=nest.reference("input", source.at(source.rows.start, source.columns.start)),
        weights=nest.reference("weights", weights),
        sums_out=nest.reference("sums", 0),
        input_type=task.input_type,
        input_zero_point=op.input_zero_point,
        produce=nest.outermost,
        layer=task.layer,
    )


def lower_added(task: TileTask, block: int, parts: int, first: int) -> TensorOp:
    """The rows of ``parts`` tiles as one of each block, the ``first`` of which is to be there, among the rows. What it
    multiplies by nothing is the tile's own.
    """
    nest = _parts(task, task.inputs[0].pixel_bytes // block, parts, block)
    own = task.inputs[0]
    return TensorOp(
        tiles=0,
        operation=Operation.CONVOLUTION,
        nest=nest.nest,
        reduce=nest.reduce,
        input=Reference(own.at(own.rows.start, own.columns.start)),
        weights=_nothing(task, block),
        sums_in=nest.reference("sums", 0),
        sums_out=nest.reference("added", first * task.row_bytes),
        produce=nest.outermost,
        layer=task.layer,
    )


def lower_total(task: TileTask, op: Averaging, block: int, parts: int, first: int) -> TensorOp:
    """The mean from the rows of ``parts`` tiles, one part after the other from the ``first`` row on. What it multiplies
    by nothing is the pixel's first word, which nobody else writes.
    """
    nest = _parts(task, task.output.pixel_bytes // block, parts, block)
    rule, multiplier, shift = requantisation(op, task.inputs[0].shape)
    bias, factor, places = (np.full(block, value, np.int32) for value in (0, multiplier, shift))
    tile = task.topology.tile
    values = partial(requantisation_values, bias, factor, places, block, tile.lanes, parameter_registers(1))
    rows = task.keep("parameters", values, tile.operand_bytes)
    return TensorOp(
        tiles=0,
        operation=Operation.CONVOLUTION,
        nest=nest.nest,
        reduce=nest.reduce,
        input=Reference(task.target),
        weights=_nothing(task, block),
        parameters=Reference(rows),
        sums_in=nest.reference("sums", first * task.row_bytes),
        output=nest.reference("output", task.target),
        output_type=task.output_type,
        output_zero_point=op.output_zero_point,
        rule=rule,
        clamp=op.clamp,
        produce=nest.outermost,
        layer=task.layer,
    )


def _parts(task: TileTask, blocks: int, parts: int, block: int) -> NestWriter:
    """Loops: block; part inside."""
    register, part = task.topology.tile.register_bytes, sums_rows(blocks, task.topology) * task.row_bytes
    return NestWriter(
        [
            Level("zb", blocks, {"sums": register, "added": register, "output": block}),
            Level("k", parts, {"sums": part}, reduce=True),
            Level("lane", block, {}),
        ]
    )


def _nothing(task: TileTask, block: int) -> Reference:
    """Weights of nothing."""
    size = operand_stride(block, task.topology.tile.inputs_per_cycle)
    return Reference(task.keep("nothing", lambda: np.zeros(size, np.int8), task.topology.tile.operand_bytes))


def requantisation(op: Averaging, source: MapShape) -> tuple[str, int, int]:
    """Rule, multiplier and shift for rows of parameters. Those have no rule ``divide``, but a product with the float64
    above the reciprocal rounds alike: its magnitude is never below the quotient's, so that a half goes away from zero,
    and above it by less than 2**-19 / count, while what is no half is 1 / (2 * count) away from any.
    """
    if isinstance(op, Mean):
        return op.rule, op.multiplier, op.shift
    if op.rule != "divide":
        multiplier, shift = op.scaling(source.pixels)
        return op.rule, multiplier, shift
    low, high = wide_bits(np.array([np.nextafter(1 / source.pixels, 2)]))
    return "wide", int(low[0]), int(high[0])
