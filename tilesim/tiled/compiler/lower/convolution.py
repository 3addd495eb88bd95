"""Convolution, dense or grouped, and fully connected layers: one word to all lanes; depthwise: byte j to lane j."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from math import prod
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.policies import INPUTS
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.tiled.compiler.feature_map import MapShape, padded
from tilesim.tiled.compiler.lower.depthwise_lanes import (
    LaneCosts,
    PixelGroups,
    best_groups,
    nest_of,
    repeated,
    side_by_side,
    window_of,
)
from tilesim.tiled.compiler.lower.loop_order import ordered
from tilesim.tiled.compiler.lower.partial_sums import in_parts
from tilesim.tiled.compiler.lower.side_by_side import SideBySide, ungrouped
from tilesim.tiled.compiler.parameters import (
    byte_weights,
    lane_weights,
    operand_stride,
    parameter_registers,
    requantisation_values,
)
from tilesim.tiled.compiler.task import Level, NestWriter, TileTask, element_type
from tilesim.tiled.compiler.traits import TileTraits, constant_weights, everything, under_kernel
from tilesim.tiled.isa.model.fields import Alternate
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.topology import Tile

Weighted = TypeVar("Weighted", Convolution, DepthwiseConvolution, FullyConnected)
Numbers: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
Kernel: TypeAlias = Convolution | DepthwiseConvolution | FullyConnected


def lower_convolution(task: TileTask, op: Convolution) -> list[TensorOp]:
    """Loops: output row, block of lanes, output column; kernel row and column and channels inside."""
    if op.groups > 1:
        dense = ungrouped(task.constants[0], op.groups, op.weight_zero_point)
        return lower_convolution(task.with_constants((dense, *task.constants[1:])), replace(op, groups=1))
    task, op = _some(task, op)
    return _windows(task, op, op.strides, op.dilations)


def lower_fully_connected(task: TileTask, op: FullyConnected) -> list[TensorOp]:
    """A convolution whose kernel is the whole map, for the tile's outputs."""
    shape = task.inputs[0].shape
    task, op = _some(task, op)
    weights, bias = task.constants
    by_place = weights.reshape(-1, shape.height, shape.width, shape.channels)
    return _windows(task.with_constants((by_place, bias)), op)


def lower_depthwise(task: TileTask, op: DepthwiseConvolution) -> list[TensorOp]:
    """Loops: output row, block of channels, output column, word of channels; kernel row and column inside.

    With several outputs a channel the layer becomes a grouped convolution: a word's bytes can only go to one lane each.
    """
    if task.constants[0].shape[2] != task.inputs[0].shape.channels:
        return _as_grouped(task, op, task.inputs[0].shape.channels)
    task, op = _some(task, op, 2)
    costs = LaneCosts(task.topology, window_of(task, op), task.row_cycles)
    of_bytes = task.input_type.bytes == task.output_type.bytes == 1
    groups = best_groups(costs) if task.side_by_side and of_bytes else None
    if groups is not None:
        return [_in_all_lanes(task, op, costs, groups)]
    weights, channels = task.constants[0], len(task.outputs)
    tile, source, target = task.topology.tile, task.inputs[0], task.output
    vector, (moves, makes), (height, width, _) = tile.vector_bytes, task.vector, weights.shape
    block = channel_block(padded(channels, vector) // vector, tile.lanes // vector) * vector
    row, pixel = source.row_bytes, source.pixel_bytes
    rows = {"input": task.step * op.strides[0] * row, "output": task.step * target.row_bytes}
    blocks = {
        "input": block * source.element_bytes,
        "weights": height * width * block,
        "parameters": task.parameter_bytes,
        "output": block * target.element_bytes,
    }
    outer = [
        [Level("y", len(target.block_rows), rows)],
        [Level("cb", padded(channels, vector) // block, blocks)],
        [Level("x", len(target.block_columns), {"input": op.strides[1] * pixel, "output": target.pixel_bytes})],
    ]
    nest = NestWriter(
        [
            *ordered(task.order, outer),
            Level(
                "cg", block // vector, {"input": moves, "weights": vector, "parameters": 4 * vector, "output": makes}
            ),
            Level("ky", height, {"input": op.dilations[0] * row, "weights": width * block}, reduce=True),
            Level("kx", width, {"input": op.dilations[1] * pixel, "weights": block}, reduce=True),
            Level("lane", vector, {}),
        ]
    )
    return [
        _weighted(
            task, op, nest, Operation.DEPTHWISE, block, lambda: byte_weights(weights, block, op.weight_zero_point)
        )
    ]


def _in_all_lanes(task: TileTask, op: DepthwiseConvolution, costs: LaneCosts, groups: PixelGroups) -> TensorOp:
    """Several pixels of a row side by side; see :mod:`~tilesim.tiled.compiler.lower.depthwise_lanes`."""
    weights, bias = task.constants
    multiplier, shift, bias = (repeated(values, costs, groups) for values in (op.multiplier, op.shift, bias))
    mine = replace(op, multiplier=multiplier, shift=shift)
    block = costs.words_a_row(groups.pixels) * groups.pixels * costs.word
    return _weighted(
        task.with_constants((weights, bias)),
        mine,
        nest_of(task, costs, groups),
        Operation.CONVOLUTION,
        block,
        lambda: side_by_side(weights, costs, groups, op.weight_zero_point),
    )


def _some(task: TileTask, op: Weighted, axis: int = 0) -> tuple[TileTask, Weighted]:
    """The task with the weights and scales of the outputs that are to be made, which lie along ``axis``."""
    weights, bias = task.constants
    some = slice(task.outputs.start, task.outputs.stop)
    multiplier, shift = (np.broadcast_to(values, bias.shape)[some] for values in (op.multiplier, op.shift))
    mine = replace(op, multiplier=multiplier, shift=shift)
    return task.with_constants((weights[(slice(None),) * axis + (some,)], bias[some])), mine


def channel_block(words: int, most: int) -> int:
    """The largest divisor of ``words`` that is not above ``most``: blocks of one size need no alternate limit."""
    return max(size for size in range(1, min(words, most) + 1) if words % size == 0)


def _as_grouped(task: TileTask, op: DepthwiseConvolution, channels: int) -> list[TensorOp]:
    weights, bias = task.constants
    grouped = Convolution(**vars(op), groups=channels)
    by_output = weights.transpose(2, 0, 1)[..., None]
    return lower_convolution(task.with_constants((by_output, bias)), grouped)


def block_weight_bytes(shape: tuple[int, ...], groups: int, tile: Tile) -> int:
    """Bytes of the weights, of this shape, of one block of lanes."""
    steps = prod(shape[1:-1]) * -(-shape[-1] * groups // tile.inputs_per_cycle)
    return steps * operand_stride(min(tile.lanes, shape[0]), tile.inputs_per_cycle)


def extent_of(task: TileTask, op: Convolution | DepthwiseConvolution) -> tuple[int, ...]:
    """What a tile's convolution depends on, beside the layer: where it begins to read and to write, and how much."""
    return _first_input(task, op), task.target, len(task.output.block_rows), len(task.output.block_columns)


def kernel_of(source: MapShape, weights: tuple[int, ...], groups: int) -> tuple[int, int, int]:
    """Rows, columns and channels that a block of lanes reads of its input: a fully connected layer all of it."""
    if len(weights) == 2:
        return source.height, source.width, source.channels
    _, height, width, channels = weights
    return height, width, channels * groups


def _windows(
    task: TileTask, op: Kernel, strides: tuple[int, int] = (1, 1), dilations: tuple[int, int] = (1, 1)
) -> list[TensorOp]:
    """The windows of a kernel (O, kH, kW, C) at every output position, or sums of a part of its inputs."""
    if task.part is None:
        return _all_windows(task, op, strides, dilations)
    (weights, *others), source, inputs = task.constants, task.inputs[0], task.topology.tile.inputs_per_cycle
    some = task.with_constants((task.part.weights(weights, inputs), *others))
    [whole] = _all_windows(some, op, strides, dilations)
    moved = task.part.rows.start * dilations[0] * source.row_bytes
    moved += task.part.words.start * inputs * source.element_bytes
    return [task.part.sums(whole, moved, task.sum_bytes)]


def _all_windows(task: TileTask, op: Kernel, strides: tuple[int, int], dilations: tuple[int, int]) -> list[TensorOp]:
    """The windows at every output position, as many of a row at once as the map says."""
    tile, source, target = task.topology.tile, task.inputs[0], task.output
    beside = SideBySide(target.pixels, strides[1], dilations[1])
    turns = beside.turns(len(target.block_columns))
    outputs, height, width, channels = _kernel_shape(task, beside)
    lanes = min(tile.lanes, outputs)
    blocks, steps = -(-outputs // lanes), -(-channels // tile.inputs_per_cycle)
    step = operand_stride(lanes, tile.inputs_per_cycle)
    row, pixel = source.row_bytes, source.pixel_bytes
    kernel_row, makes = width * steps * step, lanes * target.element_bytes
    down, across = strides[0], beside.pixels * strides[1]
    last = beside.last(len(target.block_columns)) * target.pixel_bytes if beside.pixels > 1 else lanes
    rows = {"input": task.step * down * row, "output": task.step * target.row_bytes}
    block = {"weights": height * kernel_row, "parameters": task.parameter_bytes, "output": makes}
    outer = [
        [Level("y", len(target.block_rows), rows)],
        [Level("zb", blocks, block)],
        [Level("x", turns, {"input": across * pixel, "output": beside.pixels * target.pixel_bytes})],
    ]
    inner = [
        Level("ky", height, {"input": dilations[0] * row, "weights": kernel_row}, reduce=True),
        Level("kx", width, {"input": beside.pitch * pixel, "weights": steps * step}, reduce=True),
    ]
    words = Level("zi", steps, {"input": tile.inputs_per_cycle * source.element_bytes, "weights": step}, reduce=True)
    lane = Level("lane", lanes if turns > 1 else last, {})
    short = _short({"zb": outputs % lanes, "x": last % lanes if turns > 1 else 0})
    whole = _weighted(
        task,
        op,
        NestWriter([*ordered(task.order, outer), *inner, words, lane], short),
        Operation.CONVOLUTION,
        lanes,
        lambda: lane_weights(_kernel(task, op, beside), lanes, tile.inputs_per_cycle, op.weight_zero_point),
    )
    if task.order != INPUTS or steps == 1 or task.part:
        return [whole]
    return in_parts(whole, [*chain(*outer)], [*inner, lane], words, short, task.sum_bytes)


def _short(limits: Mapping[str, int]) -> Alternate | None:
    """The one loop, if any, in whose last iteration fewer lanes run."""
    return next((Alternate(loop, limit) for loop, limit in limits.items() if limit), None)


def _kernel_shape(task: TileTask, beside: SideBySide) -> tuple[int, ...]:
    """Of the kernel (O, kH, kW, C) of all pixels that are made at once."""
    outputs, height, width, channels = task.constants[0].shape
    if beside.pixels == 1:
        return outputs, height, width, channels
    return beside.pixels * task.output.pixel_bytes, height, beside.columns(width), channels


def _kernel(task: TileTask, op: Kernel, beside: SideBySide) -> NDArray[Any]:
    """That kernel."""
    weights = task.constants[0]
    return weights if beside.pixels == 1 else beside.kernel(weights, task.output.pixel_bytes, op.weight_zero_point)


def _weighted(
    task: TileTask,
    op: Kernel,
    nest: NestWriter,
    operation: Operation,
    block: int,
    make_weights: Callable[[], NDArray[Any]],
) -> TensorOp:
    """A tensorop with its weights, and parameters for each ``block`` of channels, in wide memory."""
    tile = task.topology.tile
    weights = task.keep("weights", make_weights, tile.operand_bytes)
    registers = partial(_registers, task, op, block)
    parameters = task.keep("parameters", registers, tile.operand_bytes) if task.finishes else 0
    return replace(
        task.tensorop(operation, nest, _first_input(task, op), task.target),
        weights=nest.reference("weights", weights),
        parameters=nest.reference("parameters", parameters),
        weight_type=element_type(task.constants[0].dtype),
        input_zero_point=op.input_zero_point,
        weight_zero_point=op.weight_zero_point,
        output_zero_point=op.output_zero_point,
        rule=op.rule,
        clamp=op.clamp,
        produce=task.raises(nest),
    )


def _registers(task: TileTask, op: Kernel, block: int) -> NDArray[np.int32]:
    count = parameter_registers(task.input_type.bytes)
    return requantisation_values(*_numbers(task, op), block, task.topology.tile.lanes, count)


def _numbers(task: TileTask, op: Kernel) -> Numbers:
    """Bias, multiplier and shift of the outputs, or of all lanes of pixels that are made at once."""
    bias, size, beside = task.constants[1], task.output.pixel_bytes, SideBySide(task.output.pixels)
    if beside.pixels == 1:
        return bias, op.multiplier, op.shift
    return beside.of_all(bias, size), beside.of_all(op.multiplier, size), beside.of_all(op.shift, size)


def _first_input(task: TileTask, op: Kernel) -> int:
    """Where the first window begins."""
    if isinstance(op, FullyConnected):
        return task.inputs[0].at(0, 0)
    row = task.first_row * op.strides[0] - op.padding.top
    return task.inputs[0].at(row, task.output.columns.start * op.strides[1] - op.padding.left)


OPERATORS: Mapping[type[Any], TileTraits] = {
    Convolution: TileTraits(lower_convolution, under_kernel, constant_weights, row_by_row=True, in_chunks=True),
    DepthwiseConvolution: TileTraits(
        lower_depthwise, under_kernel, constant_weights, channel_wise=True, row_by_row=True
    ),
    FullyConnected: TileTraits(lower_fully_connected, everything, constant_weights, in_chunks=True),
}
