"""Depthwise convolution: byte j of a word to lane j."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.tiled.compiler.feature_map import padded
from tilesim.tiled.compiler.lower.convolution import lower_convolution, weighted
from tilesim.tiled.compiler.nest import Level, NestWriter
from tilesim.tiled.compiler.parameters import byte_weights, requantisation_rows
from tilesim.tiled.compiler.receptive_field import under_kernel
from tilesim.tiled.compiler.task import TileTask
from tilesim.tiled.compiler.traits import TileTraits, constant_weights
from tilesim.tiled.isa.model.instructions import Operation, TensorOp


def lower_depthwise(task: TileTask, op: DepthwiseConvolution) -> list[TensorOp]:
    """Loops: output row, block of channels, output column, word of channels; kernel row and column inside.

    With several outputs a channel the layer becomes a grouped convolution: a word's bytes can only go to one lane each.
    """
    if task.constants[0].shape[2] != task.inputs[0].shape.channels:
        return _as_grouped(task, op, task.inputs[0].shape.channels)
    task, op = _some(task, op)
    weights, bias = task.constants
    channels = len(task.outputs)
    vector, source, target = task.topology.tile.vector_bytes, task.inputs[0], task.output
    height, width, _ = weights.shape
    block = channel_block(padded(channels, vector) // vector, task.topology.tile.lanes // vector) * vector
    row, pixel = source.row_bytes, source.pixel_bytes
    nest = NestWriter(
        [
            Level(
                "y",
                len(target.block_rows),
                {"input": task.step * op.strides[0] * row, "output": task.step * target.row_bytes},
            ),
            Level(
                "cb",
                padded(channels, vector) // block,
                {"input": block, "weights": height * width * block, "parameters": 3 * task.row_bytes, "output": block},
            ),
            Level("x", len(target.block_columns), {"input": op.strides[1] * pixel, "output": target.pixel_bytes}),
            Level(
                "cg",
                block // vector,
                {"input": vector, "weights": vector, "parameters": 4 * vector, "output": vector},
            ),
            Level("ky", height, {"input": op.dilations[0] * row, "weights": width * block}, reduce=True),
            Level("kx", width, {"input": op.dilations[1] * pixel, "weights": block}, reduce=True),
            Level("lane", vector, {}),
        ]
    )
    return [
        weighted(
            task,
            op,
            nest,
            Operation.DEPTHWISE,
            task.keep("weights", lambda: byte_weights(weights, block, op.weight_zero_point)),
            task.keep("parameters", lambda: requantisation_rows(bias, op.multiplier, op.shift, block, task.row_bytes)),
        )
    ]


def _some(task: TileTask, op: DepthwiseConvolution) -> tuple[TileTask, DepthwiseConvolution]:
    """The task with the weights and scales of the channels that the tile has."""
    weights, bias = task.constants
    some = slice(task.outputs.start, task.outputs.stop)
    multiplier, shift = (np.broadcast_to(values, bias.shape)[some] for values in (op.multiplier, op.shift))
    return task.with_constants((weights[:, :, some], bias[some])), replace(op, multiplier=multiplier, shift=shift)


def channel_block(words: int, most: int) -> int:
    """The largest divisor of ``words`` that is not above ``most``: blocks of one size need no alternate limit."""
    return max(size for size in range(1, min(words, most) + 1) if words % size == 0)


def _as_grouped(task: TileTask, op: DepthwiseConvolution, channels: int) -> list[TensorOp]:
    weights, bias = task.constants
    grouped = Convolution(
        strides=op.strides,
        padding=op.padding,
        dilations=op.dilations,
        groups=channels,
        input_zero_point=op.input_zero_point,
        weight_zero_point=op.weight_zero_point,
        output_zero_point=op.output_zero_point,
        rule=op.rule,
        multiplier=op.multiplier,
        shift=op.shift,
        clamp=op.clamp,
    )
    by_output = weights.transpose(2, 0, 1)[..., None]
    return lower_convolution(task.with_constants((by_output, bias)), grouped)


OPERATORS = {
    DepthwiseConvolution: TileTraits(
        lower_depthwise, under_kernel, constant_weights, channel_wise=True, row_by_row=True
    )
}
