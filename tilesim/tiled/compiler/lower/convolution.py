"""Convolution, dense or grouped, and fully connected layers: one word to all lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.tiled.compiler.nest import Line, NestWriter
from tilesim.tiled.compiler.parameters import lane_weights, operand_stride, requantisation_rows
from tilesim.tiled.compiler.task import Task, element_type
from tilesim.tiled.isa.fields import Alternate
from tilesim.tiled.isa.instructions import Operation, TensorOp


def lower_convolution(task: Task, op: Convolution) -> list[TensorOp]:
    """Loops: output row, block of lanes, output column; kernel row and column and channels inside."""
    outputs, height, width, channels = task.constants[0].shape
    kernel = Kernel(outputs, height, width, channels * op.groups, op.strides, op.dilations)
    return [_windows(task, op, kernel, lambda: _dense(task.constants[0], op.groups, op.weight_zero_point))]


def lower_fully_connected(task: Task, op: FullyConnected) -> list[TensorOp]:
    """A convolution whose kernel is the whole map, for the tile's outputs."""
    shape, outputs = task.inputs[0].shape, task.output.channels
    weights, bias = (constant[outputs.start : outputs.stop] for constant in task.constants)
    multiplier, shift = (
        np.broadcast_to(v, task.constants[1].shape)[outputs.start : outputs.stop] for v in (op.multiplier, op.shift)
    )
    kernel = Kernel(len(outputs), shape.height, shape.width, shape.channels)
    mine = replace(op, multiplier=multiplier, shift=shift)
    return [
        _windows(
            task.with_constants((weights, bias)),
            mine,
            kernel,
            lambda: weights.reshape(-1, shape.height, shape.width, shape.channels),
        )
    ]


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


def _windows(
    task: Task, op: Convolution | FullyConnected, kernel: Kernel, weights: Callable[[], NDArray[Any]]
) -> TensorOp:
    tile, source, target = task.topology.tile, task.inputs[0], task.output
    lanes = min(tile.lanes, kernel.outputs)
    blocks, steps = -(-kernel.outputs // lanes), -(-kernel.channels // tile.inputs_per_cycle)
    step = operand_stride(lanes, tile.inputs_per_cycle)
    row, pixel = source.row_bytes, source.pixel_bytes
    kernel_row = kernel.width * steps * step
    down, across = kernel.strides
    nest = NestWriter(
        [
            Line(
                "y", len(target.block_rows), {"input": task.step * down * row, "output": task.step * target.row_bytes}
            ),
            Line(
                "zb",
                blocks,
                {"weights": kernel.height * kernel_row, "parameters": 3 * task.row_bytes, "output": lanes},
            ),
            Line("x", len(target.block_columns), {"input": across * pixel, "output": target.pixel_bytes}),
            Line("ky", kernel.height, {"input": kernel.dilations[0] * row, "weights": kernel_row}, reduce=True),
            Line("kx", kernel.width, {"input": kernel.dilations[1] * pixel, "weights": steps * step}, reduce=True),
            Line("zi", steps, {"input": tile.inputs_per_cycle, "weights": step}, reduce=True),
            Line("lane", lanes, {}),
        ],
        Alternate("zb", kernel.outputs % lanes) if kernel.outputs % lanes else None,
    )
    return weighted(
        task,
        op,
        nest,
        Operation.CONVOLUTION,
        task.keep("weights", lambda: lane_weights(weights(), lanes, tile.inputs_per_cycle, op.weight_zero_point)),
        task.keep(
            "parameters",
            lambda: requantisation_rows(task.constants[1], op.multiplier, op.shift, lanes, task.row_bytes),
        ),
    )


def weighted(
    task: Task,
    op: Convolution | DepthwiseConvolution | FullyConnected,
    nest: NestWriter,
    operation: Operation,
    weights: int,
    parameters: int,
) -> TensorOp:
    """A tensorop with weights and parameter rows at addresses of wide memory."""
    return TensorOp(
        tiles=0,
        operation=operation,
        nest=nest.nest,
        reduce=nest.reduce,
        input=nest.reference("input", _first_input(task, op)),
        weights=nest.reference("weights", weights),
        parameters=nest.reference("parameters", parameters),
        output=nest.reference("output", task.output.at(task.first_row, task.output.columns.start)),
        input_type=task.input_type,
        weight_type=element_type(task.constants[0].dtype),
        output_type=task.output_type,
        input_zero_point=op.input_zero_point,
        weight_zero_point=op.weight_zero_point,
        output_zero_point=op.output_zero_point,
        rule=op.rule,
        clamp=op.clamp,
        produce=task.raises(nest),
        layer=task.layer,
    )


def _first_input(task: Task, op: Convolution | DepthwiseConvolution | FullyConnected) -> int:
    """Where the first window begins."""
    if isinstance(op, FullyConnected):
        return task.inputs[0].at(0, 0)
    row = task.first_row * op.strides[0] - op.padding.top
    return task.inputs[0].at(row, task.output.columns.start * op.strides[1] - op.padding.left)
