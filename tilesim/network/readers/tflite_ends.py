"""What every TensorFlow Lite operator's reading begins with: its ends, its number of inputs, its fused activation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilesim.arithmetic.table import inputs as byte_values
from tilesim.errors import ModelError
from tilesim.network.graph import Array, Operator, Tensor
from tilesim.network.operators import Table
from tilesim.network.readers.fixed_point import clamp
from tilesim.network.readers.scope import Built, Scope, broadcast
from tilesim.network.readers.tflite_file import FileOperator

ACTIVATIONS = ("none", "relu", "relu_n1_to_1", "relu6")
"""Fused activations in the order of the schema's codes."""


@dataclass(frozen=True)
class Ends:
    """Input and output of a node with their scales and zero points."""

    x: Tensor
    x_scale: float
    x_zero: int
    y: Tensor
    y_scale: float
    y_zero: int


def ends_of(scope: Scope, op: FileOperator) -> Ends:
    x, x_scale, x_zero = scope.activation(op.inputs[0])
    y, y_scale, y_zero = scope.activation(op.outputs[0])
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


def check_inputs(op: FileOperator, *counts: int) -> None:
    if len(op.inputs) not in counts:
        raise ModelError(f"must have {' or '.join(map(str, counts))} inputs, not {len(op.inputs)}")


def constant_integers(scope: Scope, index: int, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """The whole numbers of a constant, of ``shape`` if one is asked for."""
    tensor = scope.tensors[index]
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


def of_pair(kind: str, operator: Operator, a: Tensor, b: Tensor) -> Built:
    """An operator on two tensors; with one number instead of a tensor it is a function of one byte, a table."""
    shape = broadcast(a, b)
    for x, number in ((a, b), (b, a)):
        if number.data is not None and number.data.size == 1 and x.data is None and x.shape == shape:
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
