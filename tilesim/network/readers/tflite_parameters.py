"""Weights and bias of a TensorFlow Lite layer, and the factor by which its sums become outputs.

Models that the reference kernels refuse, or for which they do what C++ leaves open, are refused here as well.

Source: TensorFlow Lite reference kernels; LiteRT 2 for what they refuse.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import magnitude
from tilesim.errors import ModelError
from tilesim.network.graph import Array
from tilesim.network.readers.fixed_point import in_32_bits
from tilesim.network.readers.scope import Scope
from tilesim.network.readers.tflite_ends import Ends
from tilesim.network.readers.tflite_file import FileOperator

LARGEST_BIAS_ERROR = 0.02
"""How far a bias's scale may be from the product of the other two, in output steps."""


@dataclass(frozen=True)
class Parameters:
    """``bias`` is a tensor's index; ``factor`` has one element, or one a channel, of the reals from sums to outputs."""

    weights: Array
    zero_point: int
    bias: int
    factor: NDArray[np.float64]


def convolution_parameters(scope: Scope, op: FileOperator, ends: Ends, axis: int) -> Parameters:
    """Those of a convolution, dense or depthwise, whose weights have their output channels along ``axis``.

    Of int8 the factor is float64 throughout; of uint8 the product of the scales is rounded to float32.
    """
    data, scales, zero_point = _weights(scope, op, ends, 4, axis)
    if data.dtype == np.int8 and zero_point:
        raise ModelError(f"the zero point of its int8 weights must be 0, not {zero_point}")
    products = ends.x_scale * scales
    if data.dtype == np.uint8:
        with np.errstate(over="ignore"):
            products = products.astype(np.float32).astype(np.float64)
    return _checked(scope, op, ends, data, axis, zero_point, products)


def fully_connected_parameters(scope: Scope, op: FileOperator, ends: Ends) -> Parameters:
    """Those of a fully connected layer; the factor is float64 throughout."""
    data, scales, zero_point = _weights(scope, op, ends, 2, 0)
    if scales.size > 1 and zero_point:
        raise ModelError(f"the zero point of weights with a scale for each channel must be 0, not {zero_point}")
    return _checked(scope, op, ends, data, 0, zero_point, ends.x_scale * scales)


def _weights(
    scope: Scope, op: FileOperator, ends: Ends, rank: int, axis: int
) -> tuple[Array, NDArray[np.float64], int]:
    data, scales, zero_point = scope.weights(op.inputs[1], rank, axis)
    title = scope.tensors[op.inputs[1]].title
    if data.dtype != ends.x.dtype:
        raise ModelError(f"weights {title} must be {ends.x.dtype} like {ends.x.title}, not {data.dtype}")
    if data.dtype == np.uint8 and scales.size > 1:
        raise ModelError(f"weights {title} must have one scale, as all of uint8, not {scales.size}")
    return data, scales, zero_point


def _checked(
    scope: Scope,
    op: FileOperator,
    ends: Ends,
    data: Array,
    axis: int,
    zero_point: int,
    products: NDArray[np.float64],
) -> Parameters:
    """The layer's parameters, if its bias suits them and no sum of it leaves 32 bits, scaled or not."""
    factor = products / ends.y_scale
    bias = _bias(scope, op, data.shape[axis])
    if data.dtype == np.uint8 or (data.ndim == 2 and factor.size == 1):
        _check_bias_scale(scope, ends, bias, float(products[0]))
    constant = scope.tensors[bias].data
    assert constant is not None
    in_32_bits(
        _reach(data, axis, zero_point, magnitude(ends.x.dtype, ends.x_zero), constant, factor), np.frexp(factor)[1]
    )
    return Parameters(data, zero_point, bias, factor)


def _reach(
    data: Array, axis: int, zero_point: int, x_bound: int, bias: Array, factor: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The largest magnitude of each channel's sums; if they are small whatever the weights are, a bound of it."""
    offset = np.abs(bias.astype(np.float64))
    taps = prod(data.shape) // data.shape[axis]
    bound = offset + float(taps) * x_bound * magnitude(data.dtype, zero_point)
    if (bound * np.maximum(2 * factor, 1) < 1 << 31).all():
        return bound
    others = tuple(each for each in range(data.ndim) if each != axis)
    return np.asarray(offset + x_bound * np.abs(data.astype(np.int16) - zero_point).sum(axis=others, dtype=np.float64))


def _bias(scope: Scope, op: FileOperator, channels: int) -> int:
    index = op.inputs[2] if len(op.inputs) > 2 else -1
    if index == -1:
        return scope.constant(f"{scope.tensors[op.outputs[0]].name}/no_bias", np.zeros(channels, np.int32))
    bias = scope.tensors[index]
    if bias.data is None or bias.dtype != np.int32 or bias.shape != (channels,):
        raise ModelError(
            f"bias {bias.title} must be a constant int32 of shape [{channels}], not {bias.dtype} of "
            f"shape {list(bias.shape)}"
        )
    return index


def _check_bias_scale(scope: Scope, ends: Ends, index: int, product: float) -> None:
    """A bias that says no scale has that of the sums."""
    known = scope.tensors[index].quantisation
    for scale in [] if known is None else known.scale.reshape(-1):
        if abs(scale - product) > LARGEST_BIAS_ERROR * ends.y_scale:
            title = scope.tensors[index].title
            raise ModelError(f"bias {title} must have the product of the other scales, {product:g}, not {scale:g}")
