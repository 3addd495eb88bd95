"""What each TensorFlow Lite operator becomes: one short function an operator, in the table :data:`READERS`.

The rules by which each rounds stand in :mod:`tilesim.network.readers.fixed_point`.

Source: TensorFlow Lite 8-bit quantisation specification and reference kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tilesim.arithmetic.matmul import magnitude
from tilesim.arithmetic.softmax_fixed import smallest_scale
from tilesim.errors import ModelError
from tilesim.network import operators
from tilesim.network.graph import Tensor
from tilesim.network.operators import Padding
from tilesim.network.readers import tflite_operands as operand
from tilesim.network.readers.builder import (
    WIDE_DTYPES,
    Built,
    NetworkBuilder,
    SlidingWindow,
    sliding_window,
)
from tilesim.network.readers.fixed_point import clamp, fixed_multiplier, multipliers, same_padding
from tilesim.network.readers.tflite_choices import arg_max, top_k
from tilesim.network.readers.tflite_data_movement import concatenation, pad, resize_bilinear, resize_nearest
from tilesim.network.readers.tflite_file import FileOperator
from tilesim.network.readers.tflite_functions import (
    hard_swish,
    leaky_relu,
    logistic,
    mean,
    multiply,
    prelu,
    relu,
    tanh,
)
from tilesim.network.readers.tflite_moves import (
    cast,
    depth_to_space,
    gather,
    gather_nd,
    space_to_depth,
    tile,
    transpose,
)
from tilesim.network.readers.tflite_pairs import add, extreme, subtract
from tilesim.network.readers.tflite_products import batch_matmul, fully_connected
from tilesim.network.readers.tflite_shapes import expand_dims, pack, reshape, shape_of, squeeze, unpack
from tilesim.network.readers.tflite_slices import slice_, split, split_v, strided_slice

SAME_PADDING = 0


def _window(x: Tensor, op: FileOperator, size: tuple[int, int]) -> SlidingWindow:
    strides = _pair(op.options, "StrideH", "StrideW")
    dilations = _pair(op.options, "DilationHFactor", "DilationWFactor") if "DilationHFactor" in op.options else (1, 1)
    padding = Padding()
    if op.options["Padding"] == SAME_PADDING and len(x.shape) == 4 and min(*strides, *dilations, *size) > 0:
        padding = same_padding(x.shape[1:3], size, strides, dilations)
    return sliding_window(x, size, strides, padding, dilations)


def _pair(options: Mapping[str, Any], vertical: str, horizontal: str) -> tuple[int, int]:
    return int(options[vertical]), int(options[horizontal])


def convolution(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends, own, window = _convolved(builder, op, 0)
    outputs, _, _, per_group = own.weights.shape
    channels = ends.x.shape[3]
    groups = channels // per_group
    if groups * per_group != channels or outputs % groups:
        raise ModelError(f"weights of shape {list(own.weights.shape)} must suit {channels} input channels")
    operator = operators.Convolution(
        window.strides, window.padding, window.dilations, groups, ends.x_zero, own.zero_point, ends.y_zero,
        own.rule, *multipliers(own.factor, outputs),
        operand.fused_clamp(op, ends),
    )  # fmt: skip
    return Built(operator, (ends.x.index, op.inputs[1], own.bias), (*window.shape, outputs))


def depthwise_convolution(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends, own, window = _convolved(builder, op, 3)
    one, _, _, outputs = own.weights.shape
    if one != 1 or outputs % ends.x.shape[3]:
        raise ModelError(f"weights of shape {list(own.weights.shape)} must suit {ends.x.shape[3]} input channels")
    operator = operators.DepthwiseConvolution(
        window.strides, window.padding, window.dilations, ends.x_zero, own.zero_point, ends.y_zero,
        own.rule, *multipliers(own.factor, outputs),
        operand.fused_clamp(op, ends),
    )  # fmt: skip
    weights = builder.constant(builder.tensors[op.inputs[1]].name, own.weights[0])
    return Built(operator, (ends.x.index, weights, own.bias), (*window.shape, outputs))


def _convolved(
    builder: NetworkBuilder, op: FileOperator, axis: int
) -> tuple[operand.Ends, operand.Parameters, SlidingWindow]:
    ends = operand.ends_of(builder, op, 2, 3, dtypes=WIDE_DTYPES)
    own = operand.convolution_parameters(builder, op, ends, axis)
    _, height, width, _ = own.weights.shape
    return ends, own, _window(ends.x, op, (height, width))


def transpose_convolution(builder: NetworkBuilder, op: FileOperator) -> Built:
    """A convolution of its output would have the shape of its input."""
    ends = operand.ends_of(builder, op, 3, 4, dtypes=WIDE_DTYPES, position=2)
    own = operand.convolution_parameters(builder, op, ends, 0, bias=3)
    outputs, height, width, channels = own.weights.shape
    shape, told = _made(builder, op, ends.y)
    window = _window(replace(ends.y, shape=shape), op, (height, width))
    if (*window.shape, channels) != ends.x.shape or shape[3] != outputs:
        raise ModelError(
            f"weights of shape {list(own.weights.shape)} must make shape {list(shape)} of "
            f"{[*window.shape, channels]}, not of {list(ends.x.shape)}"
        )
    operator = operators.TransposeConvolution(
        window.strides, (window.padding.top, window.padding.left), (shape[1], shape[2]),
        ends.x_zero, own.zero_point, ends.y_zero,
        own.rule, *multipliers(own.factor, outputs),
        operand.fused_clamp(op, ends),
    )  # fmt: skip
    return Built(operator, (ends.x.index, op.inputs[1], own.bias, *told), shape)


def _made(builder: NetworkBuilder, op: FileOperator, y: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The output's shape, and the tensor that says so unless it is a constant: that may be an input of the network."""
    told = builder.tensors[op.inputs[0]]
    if told.data is None and told.dtype == np.int32 and told.shape == (4,) and len(y.shape) == 4:
        return y.shape, (told.index,)
    shape = tuple(int(count) for count in operand.constant_integers(builder, told.index, "shape", (4,)))
    if min(shape) < 1:
        raise ModelError(f"its shape must have numbers above 0, not {list(shape)}")
    return shape, ()


def average_pool(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends, window, limits = _pool(builder, op)
    operator = operators.AveragePool(
        window.size, window.strides, window.padding, False, 0, 0, "divide", (ends.x_scale, ends.y_scale), limits
    )
    return Built(operator, (ends.x.index,), (*window.shape, ends.x.shape[3]))


def max_pool(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends, window, limits = _pool(builder, op)
    operator = operators.MaxPool(window.size, window.strides, window.padding, limits)
    return Built(operator, (ends.x.index,), (*window.shape, ends.x.shape[3]))


def _pool(builder: NetworkBuilder, op: FileOperator) -> tuple[operand.Ends, SlidingWindow, tuple[int, int]]:
    ends = operand.ends_of(builder, op, 1, dtypes=WIDE_DTYPES)
    operand.same_scale(ends)
    limits = operand.fused_clamp(op, ends)
    return ends, _window(ends.x, op, _pair(op.options, "FilterHeight", "FilterWidth")), limits


def softmax(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends = operand.ends_of(builder, op, 1)
    beta = float(op.options["Beta"])
    operand.only_output(ends, 1 / 256, int(np.iinfo(ends.y.dtype).min))
    if not 0 < beta < 1e6:
        raise ModelError(f"its beta must be above 0 and below 1e6, not {beta:g}")
    limits = np.iinfo(ends.y.dtype)
    scale = ends.x_scale * beta
    if not scale > smallest_scale():
        raise ModelError(f"its input's scale times beta must be above {smallest_scale():g}, not {scale:g}")
    operator = operators.Softmax(scale, ends.y_scale, ends.y_zero, (int(limits.min), int(limits.max)), "fixed")
    return Built(operator, (ends.x.index,), ends.x.shape)


QUANTISED: Mapping[str, str] = {
    "float32": "int8 uint8 int16",
    "int8": "int8 uint8 int16",
    "uint8": "int8 uint8 int16",
    "int16": "int8 int16 int32",
    "int32": "int8 int16",
}
"""Into what numbers of each type are quantised."""


def quantise(builder: NetworkBuilder, op: FileOperator) -> Built:
    operand.check_inputs(op, 1)
    x = builder.tensors[op.inputs[0]]
    dtypes = tuple(np.dtype(name) for name in QUANTISED.get(x.dtype.name, QUANTISED["float32"]).split())
    y, scale, zero = builder.activation(op.outputs[0], dtypes)
    if x.dtype == np.float32:
        return Built(operators.Quantise(scale, zero, y.dtype, "away"), (x.index,), x.shape)
    x, x_scale, x_zero = builder.activation(op.inputs[0], (*WIDE_DTYPES, np.dtype(np.int32)))
    largest = min(magnitude(x.dtype, x_zero), np.iinfo(np.int32).max)  # -2**31 is scaled, too, if not to the left
    multiplier, shift = fixed_multiplier(x_scale / scale, largest)
    limits = clamp("none", y.dtype, scale, zero)
    return Built(operators.Rescale(x_zero, zero, "double", multiplier, shift, limits, y.dtype), (x.index,), x.shape)


def dequantise(builder: NetworkBuilder, op: FileOperator) -> Built:
    operand.check_inputs(op, 1)
    x, scale, zero = builder.activation(op.inputs[0], WIDE_DTYPES)
    y = builder.tensors[op.outputs[0]]
    if y.dtype != np.float32:
        raise ModelError(f"{y.title} must be float32, not {y.dtype}")
    return Built(operators.Dequantise(scale, zero), (x.index,), x.shape)


OperatorReader: TypeAlias = Callable[[NetworkBuilder, FileOperator], Built | tuple[Built, ...]]
"""What reads an operator; of several outputs, one after the other."""

READERS: Mapping[str, OperatorReader] = {
    "ADD": add,
    "ARG_MAX": arg_max,
    "AVERAGE_POOL_2D": average_pool,
    "BATCH_MATMUL": batch_matmul,
    "CAST": cast,
    "CONCATENATION": concatenation,
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": depthwise_convolution,
    "DEPTH_TO_SPACE": depth_to_space,
    "DEQUANTIZE": dequantise,
    "EXPAND_DIMS": expand_dims,
    "FULLY_CONNECTED": fully_connected,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "HARD_SWISH": hard_swish,
    "LEAKY_RELU": leaky_relu,
    "LOGISTIC": logistic,
    "MAXIMUM": partial(extreme, operators.Maximum),
    "MAX_POOL_2D": max_pool,
    "MEAN": mean,
    "MINIMUM": partial(extreme, operators.Minimum),
    "MUL": multiply,
    "PACK": pack,
    "PAD": pad,
    "PADV2": pad,
    "PRELU": prelu,
    "QUANTIZE": quantise,
    "RELU": partial(relu, "relu"),
    "RELU6": partial(relu, "relu6"),
    "RELU_0_TO_1": partial(relu, "relu_0_to_1"),
    "RELU_N1_TO_1": partial(relu, "relu_n1_to_1"),
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest,
    "SHAPE": shape_of,
    "SLICE": slice_,
    "SOFTMAX": softmax,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQUEEZE": squeeze,
    "STRIDED_SLICE": strided_slice,
    "SUB": subtract,
    "TANH": tanh,
    "TILE": tile,
    "TRANSPOSE_CONV": transpose_convolution,
    "TOPK_V2": top_k,
    "TRANSPOSE": transpose,
    "UNPACK": unpack,
}
