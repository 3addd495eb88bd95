"""TensorFlow Lite operators that are functions of each element, products, and means.

Source: TensorFlow Lite reference kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tilesim.arithmetic.hard_swish import hard_swish_table
from tilesim.arithmetic.matmul import magnitude
from tilesim.arithmetic.requantise import quantise_multiplier
from tilesim.arithmetic.table import Mapped, leaky_factors, leaky_table, sigmoid, tabulate
from tilesim.arithmetic.table import tanh as hyperbolic_tangent
from tilesim.errors import ModelError
from tilesim.network.graph import Array
from tilesim.network.operators import LeakyRelu, Mean, Multiply, Prelu, Rescale, Table
from tilesim.network.readers import tflite_operands as operand
from tilesim.network.readers.builder import WIDE_DTYPES, Built, NetworkBuilder, broadcast
from tilesim.network.readers.fixed_point import clamp, finite, fixed_multiplier, in_32_bits
from tilesim.network.readers.tflite_file import FileOperator

LARGEST_SHIFT = 32
STEEPEST = 1e6
"""The slope that a leaky ReLU may have below 0."""


def logistic(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends = operand.ends_of(builder, op, 1)
    operand.only_output(ends, 1 / 256, int(np.iinfo(ends.y.dtype).min))
    return _table(builder, op, "logistic", partial(tabulate, sigmoid, rounding="away"))


def tanh(builder: NetworkBuilder, op: FileOperator) -> Built:
    return _table(builder, op, "tanh", partial(tabulate, hyperbolic_tangent, rounding="away"))


def hard_swish(builder: NetworkBuilder, op: FileOperator) -> Built:
    try:
        return _table(builder, op, "hard_swish", hard_swish_table)
    except ValueError as error:
        raise ModelError(str(error)) from None


def leaky_relu(builder: NetworkBuilder, op: FileOperator) -> Built:
    alpha = float(op.options["Alpha"])
    if not abs(alpha) <= STEEPEST:
        raise ModelError(f"its alpha must be {-STEEPEST:g} to {STEEPEST:g}, not {alpha}")
    if builder.tensors[op.inputs[0]].dtype == np.int16:
        return _wide_leaky_relu(builder, op, alpha)
    return _table(builder, op, "leaky_relu", partial(_leaky_table, alpha))


def _leaky_table(alpha: float, ends: Mapped) -> Array:
    _check_slope(alpha, ends.input_scale / ends.output_scale, magnitude(ends.dtype, ends.input_zero_point))
    return leaky_table(alpha, ends)


def _check_slope(alpha: float, ratio: float, largest: int) -> None:
    fixed_multiplier(ratio * max(abs(alpha), 1.0), largest)


def _wide_leaky_relu(builder: NetworkBuilder, op: FileOperator, alpha: float) -> Built:
    """Of int16, for which a table would be too long."""
    ends = operand.ends_of(builder, op, 1, dtypes=WIDE_DTYPES)
    _check_slope(alpha, finite(ends.x_scale / ends.y_scale), magnitude(ends.x.dtype))
    operator = LeakyRelu(0, 0, "double", *leaky_factors(alpha, ends.x_scale, ends.y_scale))
    return Built(operator, (ends.x.index,), ends.x.shape)


def _table(builder: NetworkBuilder, op: FileOperator, function: str, make: Callable[[Mapped], Array]) -> Built:
    ends = operand.ends_of(builder, op, 1)
    finite(ends.x_scale / ends.y_scale)
    mapped = Mapped(ends.x_scale, ends.x_zero, ends.y_scale, ends.y_zero, ends.y.dtype)
    return Built(Table(function, make(mapped)), (ends.x.index,), ends.x.shape)


def relu(activation: str, builder: NetworkBuilder, op: FileOperator) -> Built:
    """An activation by itself; the ratio of its scales is a float32."""
    ends = operand.ends_of(builder, op, 1)
    with np.errstate(over="ignore", under="ignore"):
        ratio = float(np.float32(ends.x_scale) / np.float32(ends.y_scale))
    multiplier, shift = fixed_multiplier(ratio, magnitude(ends.x.dtype, ends.x_zero))
    limits = clamp(activation, ends.y.dtype, ends.y_scale, ends.y_zero)
    operator = Rescale(ends.x_zero, ends.y_zero, "double", multiplier, shift, limits, ends.y.dtype)
    return Built(operator, (ends.x.index,), ends.x.shape)


def prelu(builder: NetworkBuilder, op: FileOperator) -> Built:
    """A leaky ReLU with slopes of its own for each element or channel; scales are multiplied in float32."""
    ends = operand.ends_of(builder, op, 2)
    slopes, scale, zero = builder.activation(op.inputs[1])
    if slopes.dtype != ends.x.dtype:
        raise ModelError(f"{slopes.title} must be {ends.x.dtype} like {ends.x.title}, not {slopes.dtype}")
    if broadcast(ends.x, slopes) != ends.x.shape:
        raise ModelError(f"{slopes.title} must broadcast to shape {list(ends.x.shape)}, not be {list(slopes.shape)}")
    with np.errstate(over="ignore", under="ignore"):
        ratio = np.float32(ends.x_scale) / np.float32(ends.y_scale)
        slope = np.float32(ends.x_scale) * np.float32(scale) / np.float32(ends.y_scale)
    largest = magnitude(ends.x.dtype, ends.x_zero)
    above = fixed_multiplier(float(ratio), largest)
    below = fixed_multiplier(float(slope), largest * magnitude(slopes.dtype, zero))
    operator = Prelu(ends.x_zero, zero, ends.y_zero, "double", above, below)
    return Built(operator, (ends.x.index, slopes.index), ends.x.shape)


def multiply(builder: NetworkBuilder, op: FileOperator) -> Built:
    """The scales are multiplied in float32."""
    ends = operand.ends_of(builder, op, 2, dtypes=WIDE_DTYPES)
    b, b_scale, b_zero = builder.activation(op.inputs[1], WIDE_DTYPES)
    if b.dtype != ends.x.dtype:
        raise ModelError(f"{b.title} must be {ends.x.dtype} like {ends.x.title}, not {b.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        real = np.float32(ends.x_scale) * np.float32(b_scale) / np.float32(ends.y_scale)
    largest = magnitude(b.dtype, b_zero) * magnitude(ends.x.dtype, ends.x_zero)
    factors = fixed_multiplier(float(real), largest)
    operator = Multiply("double", (ends.x_zero, b_zero, ends.y_zero, *factors), operand.fused_clamp(op, ends))
    return operand.of_pair("multiply", operator, ends.x, b)


def mean(builder: NetworkBuilder, op: FileOperator) -> Built:
    """Over rows and columns."""
    ends = operand.ends_of(builder, op, 2)
    axes = sorted(int(axis) % 4 for axis in operand.constant_integers(builder, op.inputs[1], "axes").reshape(-1))
    if len(ends.x.shape) != 4 or axes != [1, 2]:
        raise ModelError(f"must go over axes 1 and 2 of a map, not over {axes} of shape {list(ends.x.shape)}")
    n, height, width, channels = ends.x.shape
    shape = (n, 1, 1, channels) if op.options["KeepDims"] else (n, channels)
    multiplier, shift = _mean_factor(ends, height * width)
    in_32_bits(height * width * magnitude(ends.x.dtype, ends.x_zero), shift)
    limits = clamp("none", ends.y.dtype, ends.y_scale, ends.y_zero)
    operator = Mean(shape, ends.x_zero, ends.y_zero, "double", multiplier, shift, limits)
    return Built(operator, (ends.x.index,), shape)


def _mean_factor(ends: operand.Ends, count: int) -> tuple[int, int]:
    """Multiplier and shift with the division by ``count`` in the multiplier, which keeps all its bits."""
    multiplier, shift = quantise_multiplier(finite(ends.x_scale / ends.y_scale))
    more = min(count.bit_length() - 1, LARGEST_SHIFT, 31 + shift)
    return (multiplier << more) // count, shift - more
