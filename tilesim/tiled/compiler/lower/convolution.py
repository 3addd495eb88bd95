"""Convolution, dense or grouped, and fully connected layers: one word to all lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.tiled.compiler.nest import Level, NestWriter
from tilesim.tiled.compiler.parameters import lane_weights, operand_stride, requantisation_rows
from tilesim.tiled.compiler.receptive_field import Fields, everything, under_kernel
from tilesim.tiled.compiler.task import TileTask, element_type
from tilesim.tiled.compiler.traits import TileTraits, constant_weights
from tilesim.tiled.isa.model.fields import Alternate
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.topology import Tile


def lower_convolution(task: TileTask, op: Convolution) -> list[TensorOp]:
    """Loops: output row, block of lanes, output column; kernel row and column and channels inside."""
    if op.groups > 1:
        dense = _dense(task.constants[0], op.groups, op.weight_zero_point)
        return lower_convolution(task.with_constants((dense, *task.constants[1:])), replace(op, groups=1))
    task, op = _some(task, op)
    outputs, height, width, channels = task.constants[0].shape
    kernel = Kernel(outputs, height, width, channels, op.strides, op.dilations)
    return [_windows(task, op, kernel)]


def lower_fully_connected(task: TileTask, op: FullyConnected) -> list[TensorOp]:
    """A convolution whose kernel is the whole map, for the tile's outputs."""
    shape = task.inputs[0].shape
    task, op = _some(task, op)
    weights, bias = task.constants
    by_place = weights.reshape(-1, shape.height, shape.width, shape.channels)
    kernel = Kernel(len(weights), shape.height, shape.width, shape.channels)
    return [_windows(task.with_constants((by_place, bias)), op, kernel)]


Weighted = TypeVar("Weighted", Convolution, FullyConnected)


def _some(task: TileTask, op: Weighted) -> tuple[TileTask, Weighted]:
    """The task with the weights and scales of the outputs that are to be made."""
    some = slice(task.outputs.start, task.outputs.stop)
    bias = task.constants[1]
    multiplier, shift = (np.broadcast_to(values, bias.shape)[some] for values in (op.multiplier, op.shift))
    mine = replace(op, multiplier=multiplier, shift=shift)
    return task.with_constants(tuple(constant[some] for constant in task.constants)), mine


def block_weight_bytes(shape: tuple[int, ...], groups: int, tile: Tile) -> int:
    """Bytes of the weights, of this shape, of one block of lanes."""
    steps = prod(shape[1:-1]) * -(-shape[-1] * groups // tile.inputs_per_cycle)
    return steps * operand_stride(min(tile.lanes, shape[0]), tile.inputs_per_cycle)


def extent_of(task: TileTask, op: Convolution) -> tuple[int, ...]:
    """What a tile's convolution depends on, beside the layer: where it begins to read and to write, and how much."""
    return _first_input(task, op), task.target, len(task.output.block_rows), len(task.output.block_columns)


@dataclass(frozen=True)
class Kernel:
    """What a window multiplies: sizes, and the steps between windows and within one."""

    outputs: int
    height: int
    width: int
    channels: int
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)


def _dense(weights: NDArray[Any], groups: int, fill: int) -> NDArray[Any]:
    """Grouped weights with the weights between groups written out as ``fill``, their zero point."""
    if groups == 1:
        return weights
    outputs, height, width, channels = weights.shape
    dense = np.full((outputs, height, width, groups, channels), fill, weights.dtype)
    group = np.arange(outputs) * groups // outputs
    dense[np.arange(outputs), :, :, group] = weights
    return dense.reshape(outputs, height, width, groups * channels)


def _windows(task: TileTask, op: Convolution | FullyConnected, kernel: Kernel) -> TensorOp:
    tile, source, target = task.topology.tile, task.inputs[0], task.output
    weights, bias = task.constants
    lanes = min(tile.lanes, kernel.outputs)
    blocks, steps = -(-kernel.outputs // lanes), -(-kernel.channels // tile.inputs_per_cycle)
    step = operand_stride(lanes, tile.inputs_per_cycle)
    row, pixel = source.row_bytes, source.pixel_bytes
    kernel_row = kernel.width * steps * step
    down, across = kernel.strides
    nest = NestWriter(
        [
            Level(
                "y", len(target.block_rows), {"input": task.step * down * row, "output": task.step * target.row_bytes}
            ),
            Level(
                "zb",
                blocks,
                {"weights": kernel.height * kernel_row, "parameters": 3 * task.row_bytes, "output": lanes},
            ),
            Level("x", len(target.block_columns), {"input": across * pixel, "output": target.pixel_bytes}),
            Level("ky", kernel.height, {"input": kernel.dilations[0] * row, "weights": kernel_row}, reduce=True),
            Level("kx", kernel.width, {"input": kernel.dilations[1] * pixel, "weights": steps * step}, reduce=True),
            Level("zi", steps, {"input": tile.inputs_per_cycle, "weights": step}, reduce=True),
            Level("lane", lanes, {}),
        ],
        Alternate("zb", kernel.outputs % lanes) if kernel.outputs % lanes else None,
    )
    return weighted(
        task,
        op,
        nest,
        Operation.CONVOLUTION,
        task.keep("weights", lambda: lane_weights(weights, lanes, tile.inputs_per_cycle, op.weight_zero_point)),
        task.keep(
            "parameters",
            lambda: requantisation_rows(bias, op.multiplier, op.shift, lanes, task.row_bytes),
        ),
    )


def weighted(
    task: TileTask,
    op: Convolution | DepthwiseConvolution | FullyConnected,
    nest: NestWriter,
    operation: Operation,
    weights: int,
    parameters: int,
) -> TensorOp:
    """A tensorop with weights and parameter rows at addresses of wide memory."""
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


def _first_input(task: TileTask, op: Convolution | DepthwiseConvolution | FullyConnected) -> int:
    """Where the first window begins."""
    if isinstance(op, FullyConnected):
        return task.inputs[0].at(0, 0)
    row = task.first_row * op.strides[0] - op.padding.top
    return task.inputs[0].at(row, task.output.columns.start * op.strides[1] - op.padding.left)


def _fields(op: Convolution, weights: tuple[int, ...]) -> Fields:
    return under_kernel(op, weights[1:3])


OPERATORS: Mapping[type[Any], TileTraits] = {
    Convolution: TileTraits(lower_convolution, _fields, constant_weights, row_by_row=True, in_chunks=True),
    FullyConnected: TileTraits(lower_fully_connected, everything, constant_weights, in_chunks=True),
}
