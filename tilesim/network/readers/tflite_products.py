"""TensorFlow Lite operators that multiply matrices: fully connected layers, and matrices of two tensors.

Source: TensorFlow Lite reference kernels FULLY_CONNECTED and BATCH_MATMUL.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tilesim.arithmetic.matmul import magnitude
from tilesim.errors import ModelError
from tilesim.network.graph import Node, Tensor
from tilesim.network.operators import BatchMatmul, Convolution, FullyConnected, Padding, Reshape
from tilesim.network.readers import tflite_operands as operand
from tilesim.network.readers.builder import MAX_ELEMENTS, WIDE_DTYPES, Built, NetworkBuilder, first_of
from tilesim.network.readers.fixed_point import clamp, fixed_multiplier, wide_factors
from tilesim.network.readers.tflite_file import FileOperator


def fully_connected(builder: NetworkBuilder, op: FileOperator) -> Built:
    """Of one row a vector; of several each row is a pixel, and the layer a convolution of one tap."""
    ends = operand.ends_of(builder, op, 2, 3, dtypes=WIDE_DTYPES)
    own = operand.fully_connected_parameters(builder, op, ends)
    outputs, inner = own.weights.shape
    if op.options["WeightsFormat"] != 0:
        raise ModelError("shuffled weights are not supported")
    rows, keeps = prod(ends.x.shape) // inner, op.options["KeepNumDims"]
    if rows * inner != prod(ends.x.shape) or (keeps and ends.x.shape[-1] != inner):
        raise ModelError(f"{ends.x.title} of shape {list(ends.x.shape)} must divide into rows of {inner}")
    shape = (*ends.x.shape[:-1], outputs) if keeps else (rows, outputs)
    zeros = ends.x_zero, own.zero_point, ends.y_zero
    factors, limits = wide_factors(own.factor, outputs), operand.fused_clamp(op, ends)
    if rows > 1:
        pixels = Convolution((1, 1), Padding(), (1, 1), 1, *zeros, "wide", *factors, limits)
        return _of_pixels(builder, op, ends, pixels, own.bias, shape)
    layer = FullyConnected(*zeros, "wide", *factors, limits)
    inputs = (ends.x.index, op.inputs[1], own.bias)
    if len(shape) == 2:
        return Built(layer, inputs, shape)
    return _reshaped(builder, op, layer, inputs, (1, outputs), shape)


def _of_pixels(
    builder: NetworkBuilder, op: FileOperator, ends: operand.Ends, layer: Convolution, bias: int, shape: tuple[int, ...]
) -> Built:
    """Rows as pixels: those of a map as they are, others as those of one row."""
    weights = builder.tensors[op.inputs[1]]
    assert weights.data is not None
    outputs, inner = weights.shape
    taps = builder.constant(weights.name, weights.data.reshape(outputs, 1, 1, inner), weights)
    x = ends.x
    if len(x.shape) != 4 or x.shape[3] != inner:
        wanted = (1, 1, prod(x.shape) // inner, inner)
        x = builder.derived(f"{ends.y.name}/rows", Reshape(wanted), x, wanted)
    made, inputs = (*x.shape[:3], outputs), (x.index, taps, bias)
    return Built(layer, inputs, shape) if made == shape else _reshaped(builder, op, layer, inputs, made, shape)


def _reshaped(
    builder: NetworkBuilder,
    op: FileOperator,
    layer: Convolution | FullyConnected,
    inputs: tuple[int, ...],
    made: tuple[int, ...],
    shape: tuple[int, ...],
) -> Built:
    """What a layer makes, under another shape."""
    y = builder.tensors[op.outputs[0]]
    index = builder.placed(f"{y.name}/made", y, made)
    builder.nodes.append(Node(f"{y.name}/made", layer, inputs, index))
    return Built(Reshape(shape), (index,), shape)


def batch_matmul(builder: NetworkBuilder, op: FileOperator) -> Built:
    """The product of the two scales is a float32."""
    ends = operand.ends_of(builder, op, 2)
    b, b_scale, b_zero = builder.activation(op.inputs[1])
    if b.dtype != np.int8 or ends.x.dtype != np.int8:
        raise ModelError(f"{ends.x.title} and {b.title} must be int8, not {ends.x.dtype} and {b.dtype}")
    turned = bool(op.options["AdjX"]), bool(op.options["AdjY"])
    shape, inner = _product_shape(ends.x, b, turned)
    largest = inner * magnitude(ends.x.dtype, ends.x_zero) * magnitude(b.dtype, b_zero)
    with np.errstate(over="ignore"):
        product = float(np.float32(ends.x_scale) * np.float32(b_scale))
    factor = fixed_multiplier(product / ends.y_scale, largest)
    limits = clamp("none", ends.y.dtype, ends.y_scale, ends.y_zero)
    zeros, firsts = (ends.x_zero, b_zero, ends.y_zero), (first_of(ends.x), first_of(b))
    operator = BatchMatmul(turned, zeros, "double", *factor, limits, np.dtype(np.int32), firsts)
    return Built(operator, (ends.x.index, b.index), shape)


def _product_shape(a: Tensor, b: Tensor, turned: tuple[bool, bool]) -> tuple[tuple[int, ...], int]:
    """That of the product, and how many products each sum has."""
    if min(len(a.shape), len(b.shape)) < 2:
        raise ModelError(f"{a.title} and {b.title} must have at least 2 axes")
    left, right = (x.shape[-1:-3:-1] if turn else x.shape[-2:] for x, turn in zip((a, b), turned, strict=True))
    try:
        before = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        before = (0,)
    if left[1] != right[0] or 0 in before:
        raise ModelError(f"matrices of shapes {list(a.shape)} and {list(b.shape)} must suit each other")
    shape = (*before, left[0], right[1])
    if prod(shape) > MAX_ELEMENTS:
        raise ModelError(f"must make at most {MAX_ELEMENTS} elements, not shape {list(shape)}")
    return shape, left[1]
