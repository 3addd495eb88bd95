"""TensorFlow Lite operators that choose the largest elements along an axis.

Source: TensorFlow Lite reference kernels: of equal elements the first comes first.
"""

from __future__ import annotations

import numpy as np
import tflite

from tilesim.errors import ModelError
from tilesim.network.operators import ArgMax, TopK
from tilesim.network.readers.builder import Built, NetworkBuilder
from tilesim.network.readers.fault import wrong_type
from tilesim.network.readers.moving import transposed
from tilesim.network.readers.tflite_file import FileOperator
from tilesim.network.readers.tflite_operands import any_axis, axis_of, check_inputs, constant_integers

PLACES = {tflite.TensorType.INT32: np.dtype(np.int32), tflite.TensorType.INT64: np.dtype(np.int64)}


def arg_max(builder: NetworkBuilder, op: FileOperator) -> Built:
    """Along another axis than the last, the tensor is turned first."""
    check_inputs(op, 2)
    x, _, _ = builder.activation(op.inputs[0])
    axis = any_axis(_number(builder, op.inputs[1], "axis"), len(x.shape))
    if axis != len(x.shape) - 1:
        turned = transposed(x, (*(other for other in range(len(x.shape)) if other != axis), axis))
        x = builder.derived(f"{builder.tensors[op.outputs[0]].name}/turned", turned.operator, x, turned.shape)
    y, code = builder.tensors[op.outputs[0]], op.options["OutputType"]
    if PLACES.get(code) != y.dtype:
        raise wrong_type(f"{y.title} must be int32 or int64, as its options say", y.dtype.name)
    return Built(ArgMax(y.dtype), (x.index,), x.shape[:-1])


def top_k(builder: NetworkBuilder, op: FileOperator) -> tuple[Built, ...]:
    """Values and places, a node each."""
    check_inputs(op, 2)
    x, x_scale, x_zero = builder.activation(op.inputs[0])
    axis_of(-1, len(x.shape))
    k = _number(builder, op.inputs[1], "k")
    if not 1 <= k <= x.shape[-1]:
        raise ModelError(f"its k must be from 1 to {x.shape[-1]}, not {k}")
    if len(op.outputs) != 2:
        raise ModelError(f"must write 2 tensors, not {len(op.outputs)}")
    (values, scale, zero), places = builder.activation(op.outputs[0]), builder.tensors[op.outputs[1]]
    if (values.dtype, scale, zero) != (x.dtype, x_scale, x_zero):
        raise ModelError(f"{values.title} must have the type, scale and zero point of {x.title}")
    if places.dtype != np.int32:
        raise wrong_type(f"{places.title} must be int32", places.dtype.name)
    shape = (*x.shape[:-1], k)
    return Built(TopK(k), (x.index,), shape), Built(TopK(k, places.dtype), (x.index,), shape)


def _number(builder: NetworkBuilder, index: int, what: str) -> int:
    given = constant_integers(builder, index, what)
    if given.size != 1:
        raise ModelError(f"its {what} must be one number, not {given.size}")
    return int(given.reshape(()))
