"""Convolution, dense or grouped, and fully connected layers: one word to all lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.padding import Padding
from tilesim.tiled.compiler.nest import Line, NestWriter
from tilesim.tiled.compiler.parameters import lane_weights, operand_stride, requantisation_rows
from tilesim.tiled.compiler.task import Task, element_type
from tilesim.tiled.isa.fields import Alternate
from tilesim.tiled.isa.instructions import Operation, TensorOp


def lower_convolution(task: Task, op: Convolution) -> list[TensorOp]:
    """Loops: output row, block of lanes, output column; kernel row and column and channels inside."""
    weights = _dense(task.constants[0], op.groups, op.weight_zero_point)
    return [_windows(task, op, weights, op.strides, op.dilations, op.padding)]


def lower_fully_connected(task: Task, op: FullyConnected) -> list[TensorOp]:
    """A convolution whose kernel is the whole map."""
    shape = task.inputs[0].shape
    weights = task.constants[0].reshape(-1, shape.height, shape.width, shape.channels)
    return [_windows(task, op, weights, (1, 1), (1, 1), Padding())]


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
    task: Task,
    op: Convolution | FullyConnected,
    weights: NDArray[Any],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    padding: Padding,
) -> TensorOp:
    tile, source, target = task.topology.tile, task.inputs[0], task.output
    outputs, height, width, _ = weights.shape
    lanes = min(tile.lanes, outputs)
    data = lane_weights(weights, lanes, tile.inputs_per_cycle, op.weight_zero_point)
    blocks, steps = data.shape[0], data.shape[3]
    step = operand_stride(lanes, tile.inputs_per_cycle)
    rows = requantisation_rows(task.constants[1], op.multiplier, op.shift, lanes, task.row_bytes)
    row, pixel = source.row_bytes, source.pixel_bytes
    kernel_row, block_bytes = width * steps * step, height * width * steps * step
    nest = NestWriter(
        [
            Line("y", target.shape.height, {"input": strides[0] * row, "output": target.row_bytes}),
            Line("zb", blocks, {"weights": block_bytes, "parameters": 3 * task.row_bytes, "output": lanes}),
            Line("x", target.shape.width, {"input": strides[1] * pixel, "output": target.pixel_bytes}),
            Line("ky", height, {"input": dilations[0] * row, "weights": kernel_row}, reduce=True),
            Line("kx", width, {"input": dilations[1] * pixel, "weights": steps * step}, reduce=True),
            Line("zi", steps, {"input": tile.inputs_per_cycle, "weights": step}, reduce=True),
            Line("lane", lanes, {}),
        ],
        Alternate("zb", outputs % lanes) if outputs % lanes else None,
    )
    return weighted(task, op, nest, Operation.CONVOLUTION, padding, data, rows)


def weighted(
    task: Task,
    op: Convolution | DepthwiseConvolution | FullyConnected,
    nest: NestWriter,
    operation: Operation,
    padding: Padding,
    weights: NDArray[Any],
    rows: NDArray[np.int32],
) -> TensorOp:
    """A tensorop with weights and parameter rows, which get their places in wide memory."""
    return TensorOp(
        tiles=task.tiles,
        operation=operation,
        nest=nest.nest,
        reduce=nest.reduce,
        input=nest.reference("input", task.inputs[0].at(-padding.top, -padding.left)),
        weights=nest.reference("weights", task.keep(weights)),
        parameters=nest.reference("parameters", task.keep(rows)),
        output=nest.reference("output", task.output.at(0, 0)),
        input_type=task.input_type,
        weight_type=element_type(weights.dtype),
        output_type=task.output_type,
        input_zero_point=op.input_zero_point,
        weight_zero_point=op.weight_zero_point,
        output_zero_point=op.output_zero_point,
        rule=op.rule,
        clamp=op.clamp,
        produce=nest.outermost,
        layer=task.layer,
    )
