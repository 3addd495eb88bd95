"""What TensorFlow Lite operators are read from: their ends, their number of inputs, their fused activation; of a layer
its weights and bias, and the factor by which its sums become outputs.

Models that the reference kernels refuse, or for which they do what C++ leaves open, are refused here as well.

Source: TensorFlow Lite reference kernels; LiteRT 2 for what they refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import magnitude
from tilesim.arithmetic.table import inputs as byte_values
from tilesim.errors import ModelError
from tilesim.network.graph import Array, Operator, Tensor
from tilesim.network.operators import Table
from tilesim.network.readers.builder import ACTIVATION_DTYPES, WIDE_DTYPES, Built, NetworkBuilder, broadcast
from tilesim.network.readers.fixed_point import clamp, in_32_bits, in_48_bits
from tilesim.network.readers.tflite_file import FileOperator

Doubles: TypeAlias = NDArray[np.float64]

ACTIVATIONS = ("none", "relu", "relu_n1_to_1", "relu6")
"""Fused activations in the order of the schema's codes."""
INT32 = 2
"""The schema's code of the type."""
LARGEST_BIAS_ERROR = 0.02
"""How far a bias's scale may be from the product of the other two, in output steps."""


@dataclass(frozen=True)
class Ends:
    """Input and output of a node with their scales and zero points."""

    x: Tensor
    x_scale: float
    x_zero: int
    y: Tensor
    y_scale: float
    y_zero: int


def ends_of(
    builder: NetworkBuilder,
    op: FileOperator,
    *counts: int,
    dtypes: Sequence[np.dtype[Any]] = ACTIVATION_DTYPES,
    position: int = 0,
) -> Ends:
    """The input at ``position`` and the output, of one of the types, of an operator that has so many inputs."""
    check_inputs(op, *counts)
    x, x_scale, x_zero = builder.activation(op.inputs[position], dtypes)
    y, y_scale, y_zero = builder.activation(op.outputs[0], dtypes)
    if x.dtype != y.dtype:
        raise ModelError(f"{y.title} must be {x.dtype} like {x.title}, not {y.dtype}")
    return Ends(x, x_scale, x_zero, y, y_scale, y_zero)


def same_scale(ends: Ends) -> None:
    if (ends.x_scale, ends.x_zero) != (ends.y_scale, ends.y_zero):
        raise ModelError(
            f"{ends.y.title} must have the scale and zero point of {ends.x.title}, {ends.x_scale:g} and {ends.x_zero}, "
            f"not {ends.y_scale:g} and {ends.y_zero}"
        )


def only_output(ends: Ends, scale: float, zero_point: int) -> None:
    """The quantisation that an operator's output always has; kernels take it for granted, or refuse any other."""
    if (ends.y_scale, ends.y_zero) != (scale, zero_point):
        raise ModelError(
            f"{ends.y.title} must have scale {scale:g} and zero point {zero_point}, not {ends.y_scale:g} and "
            f"{ends.y_zero}"
        )


def moved(builder: NetworkBuilder, op: FileOperator, *counts: int, position: int = 0) -> Tensor:
    """The input at ``position`` of an operator that has so many, and whose outputs have its numbers, of any type."""
    check_inputs(op, *counts)
    x = builder.tensors[op.inputs[position]]
    for index in op.outputs:
        must_be_like(builder, x, builder.tensors[index])
    return x


def must_be_like(builder: NetworkBuilder, x: Tensor, y: Tensor) -> None:
    """Two tensors of one type and, where they are quantised, one quantisation."""
    if y.dtype != x.dtype:
        raise ModelError(f"{y.title} must be {x.dtype} like {x.title}, not {y.dtype}")
    if x.dtype in WIDE_DTYPES:
        _, x_scale, x_zero = builder.activation(x.index, WIDE_DTYPES)
        _, y_scale, y_zero = builder.activation(y.index, WIDE_DTYPES)
        same_scale(Ends(x, x_scale, x_zero, y, y_scale, y_zero))


def check_inputs(op: FileOperator, *counts: int) -> None:
    if len(op.inputs) not in counts:
        raise ModelError(f"must have {' or '.join(map(str, counts))} inputs, not {len(op.inputs)}")


def constant_integers(builder: NetworkBuilder, index: int, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """The whole numbers of a constant, of ``shape`` if one is asked for."""
    tensor = builder.tensors[index]
    if tensor.data is None or tensor.dtype not in (np.int32, np.int64):
        raise ModelError(f"its {what} {tensor.title} must be a constant of int32 or int64, not {tensor.dtype}")
    if shape is not None and tensor.shape != shape:
        raise ModelError(f"its {what} {tensor.title} must have shape {list(shape)}, not {list(tensor.shape)}")
    return tensor.data


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front, and not the first one, which is that of the samples."""
    if not -rank < axis < rank or axis == 0:
        raise ModelError(f"its axis must be from 1 to {rank - 1}, not {axis}")
    return axis % rank


def any_axis(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise ModelError(f"its axis must be from {-rank} to {rank - 1}, not {axis}")
    return axis % rank


def of_pair(kind: str, operator: Operator, a: Tensor, b: Tensor) -> Built:
    """An operator on two tensors; with one number instead of a tensor it is a function of one byte, a table."""
    shape = broadcast(a, b)
    for x, number in ((a, b), (b, a)):
        looked_up = number.data is not None and number.data.size == 1 and x.data is None and x.shape == shape
        if looked_up and x.dtype in ACTIVATION_DTYPES:
            assert number.data is not None
            every = byte_values(x.dtype)
            other = np.broadcast_to(number.data.reshape(()), every.shape)
            return Built(
                Table(kind, operator.evaluate([every, other] if x is a else [other, every])), (x.index,), shape
            )
    return Built(operator, (a.index, b.index), shape)


def fused_clamp(op: FileOperator, ends: Ends) -> tuple[int, int]:
    code = op.options["FusedActivationFunction"]
    if not 0 <= code < len(ACTIVATIONS):
        raise ModelError(f"its fused activation must be one of {', '.join(ACTIVATIONS)}, not code {code}")
    return clamp(ACTIVATIONS[code], ends.y.dtype, ends.y_scale, ends.y_zero)


@dataclass(frozen=True)
class Parameters:
    """``bias`` is a tensor's index; ``factor`` has one element, or one a channel, of the reals from sums to outputs."""

    weights: Array
    zero_point: int
    bias: int
    factor: Doubles
    rule: str
    """By which a convolution's sums are scaled."""


def convolution_parameters(
    builder: NetworkBuilder, op: FileOperator, ends: Ends, axis: int, bias: int = 2
) -> Parameters:
    """Those of a convolution, dense, depthwise or transposed, whose weights have their output channels along ``axis``,
    with its ``bias`` at that position of its inputs.

    Of int8 and int16 the factor is float64 throughout; of uint8 the product of the scales is rounded to float32.
    """
    data, scales, zero_point = _weights(builder, op, ends, 4, axis)
    if data.dtype == np.int8 and zero_point:
        raise ModelError(f"the zero point of its int8 weights must be 0, not {zero_point}")
    products = ends.x_scale * scales
    if data.dtype == np.uint8:
        with np.errstate(over="ignore"):
            products = products.astype(np.float32).astype(np.float64)
    return _checked(builder, op, ends, data, axis, zero_point, products, bias)


def fully_connected_parameters(builder: NetworkBuilder, op: FileOperator, ends: Ends) -> Parameters:
    """Those of a fully connected layer; the factor is float64 throughout."""
    data, scales, zero_point = _weights(builder, op, ends, 2, 0)
    if scales.size > 1 and zero_point:
        raise ModelError(f"the zero point of weights with a scale for each channel must be 0, not {zero_point}")
    return _checked(builder, op, ends, data, 0, zero_point, ends.x_scale * scales, 2)


def _weights(builder: NetworkBuilder, op: FileOperator, ends: Ends, rank: int, axis: int) -> tuple[Array, Doubles, int]:
    data, scales, zero_point = builder.weights(op.inputs[1], rank, axis)
    title = builder.tensors[op.inputs[1]].title
    if ends.x.dtype == np.int16 and data.dtype != np.int8:
        raise ModelError(f"weights {title} must be int8, as {ends.x.title} is int16, not {data.dtype}")
    if ends.x.dtype not in (np.int16, data.dtype):
        raise ModelError(f"weights {title} must be {ends.x.dtype} like {ends.x.title}, not {data.dtype}")
    if data.dtype == np.uint8 and scales.size > 1:
        raise ModelError(f"weights {title} must have one scale, as all of uint8, not {scales.size}")
    return data, scales, zero_point


def _checked(
    builder: NetworkBuilder,
    op: FileOperator,
    ends: Ends,
    data: Array,
    axis: int,
    zero_point: int,
    products: Doubles,
    position: int,
) -> Parameters:
    """The layer's parameters, if its bias suits them and no sum of it leaves its bits, scaled or not."""
    factor = products / ends.y_scale
    bias = _bias(builder, op, data.shape[axis], ends.x.dtype, position)
    if data.dtype == np.uint8 or (data.ndim == 2 and factor.size == 1):
        _check_bias_scale(builder, ends, bias, float(products[0]))
    constant = builder.tensors[bias].data
    assert constant is not None
    reach = _reach(data, axis, zero_point, magnitude(ends.x.dtype, ends.x_zero), constant, factor)
    if constant.dtype == np.int64:
        in_48_bits(reach, factor)
    else:
        in_32_bits(reach, np.frexp(factor)[1])
    return Parameters(data, zero_point, bias, factor, "long" if constant.dtype == np.int64 else "double")


def _reach(data: Array, axis: int, zero_point: int, x_bound: int, bias: Array, factor: Doubles) -> Doubles:
    """The largest magnitude of each channel's sums; if they are small whatever the weights are, a bound of it."""
    offset = np.abs(bias.astype(np.float64))
    taps = prod(data.shape) // data.shape[axis]
    bound = offset + float(taps) * x_bound * magnitude(data.dtype, zero_point)
    if (bound * np.maximum(2 * factor, 1) < 1 << 31).all():
        return bound
    others = tuple(other for other in range(data.ndim) if other != axis)
    return np.asarray(offset + x_bound * np.abs(data.astype(np.int16) - zero_point).sum(axis=others, dtype=np.float64))


def _bias(builder: NetworkBuilder, op: FileOperator, channels: int, dtype: np.dtype[Any], position: int) -> int:
    """The bias's index; of activations of int16 it says in how many bits sums are."""
    wanted = np.dtype(np.int32) if dtype != np.int16 else _wide_sums(op)
    index = op.inputs[position] if len(op.inputs) > position else -1
    if index == -1:
        return builder.constant(f"{builder.tensors[op.outputs[0]].name}/no_bias", np.zeros(channels, wanted))
    bias = builder.tensors[index]
    if bias.data is None or bias.dtype != wanted or bias.shape != (channels,):
        raise ModelError(
            f"bias {bias.title} must be a constant {wanted} of shape [{channels}], not {bias.dtype} of "
            f"shape {list(bias.shape)}"
        )
    return index


def _wide_sums(op: FileOperator) -> np.dtype[Any]:
    """The type of a layer's sums whose activations are int16: int64 unless its options say int32.

    Kernels go by the option, whatever the bias is. One of int32 without the option is read beyond its end.
    """
    return np.dtype(np.int32 if op.options.get("QuantizedBiasType") == INT32 else np.int64)


def _check_bias_scale(builder: NetworkBuilder, ends: Ends, index: int, product: float) -> None:
    """A bias that says no scale has that of the sums."""
    known = builder.tensors[index].quantisation
    for scale in [] if known is None else known.scale.reshape(-1):
        if abs(scale - product) > LARGEST_BIAS_ERROR * ends.y_scale:
            title = builder.tensors[index].title
            raise ModelError(f"bias {title} must have the product of the other scales, {product:g}, not {scale:g}")
