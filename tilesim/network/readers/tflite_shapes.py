"""TensorFlow Lite operators that give a tensor another shape, take it apart into smaller ones, or make one of several.

Source: TensorFlow Lite reference kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from tilesim.errors import ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import Reshape
from tilesim.network.readers.builder import Built, NetworkBuilder
from tilesim.network.readers.moving import box, joined
from tilesim.network.readers.tflite_file import FileOperator
from tilesim.network.readers.tflite_operands import any_axis, check_inputs, constant_integers, moved, must_be_like


def reshape(builder: NetworkBuilder, op: FileOperator) -> Built:
    """RESHAPE and SQUEEZE: the file says the output's shape."""
    x, shape = moved(builder, op, 1, 2), builder.tensors[op.outputs[0]].shape
    if prod(x.shape) != prod(shape):
        raise ModelError(f"shape {list(x.shape)} must have as many elements as {list(shape)}")
    return Built(Reshape(shape), (x.index,), shape)


def squeeze(builder: NetworkBuilder, op: FileOperator) -> Built:
    return reshape(builder, op)


def expand_dims(builder: NetworkBuilder, op: FileOperator) -> Built:
    x = moved(builder, op, 2)
    given = constant_integers(builder, op.inputs[1], "axis")
    if given.size != 1:
        raise ModelError(f"its axis must be one number, not {given.size}")
    shape = _longer(x, any_axis(int(given.reshape(())), len(x.shape) + 1))
    return Built(Reshape(shape), (x.index,), shape)


def shape_of(builder: NetworkBuilder, op: FileOperator) -> Built:
    """The lengths of a tensor's axes, which are a constant."""
    check_inputs(op, 1)
    x, y = builder.tensors[op.inputs[0]], builder.tensors[op.outputs[0]]
    if y.dtype not in (np.int32, np.int64):
        raise ModelError(f"{y.title} must be int32 or int64, not {y.dtype}")
    count = (len(x.shape),)
    return Built(Reshape(count), (builder.constant(f"{y.name}/axes", np.array(x.shape, y.dtype)),), count)


def pack(builder: NetworkBuilder, op: FileOperator) -> Built:
    """Tensors side by side along an axis of their own."""
    x = moved(builder, op, *range(1, 65))
    axis = any_axis(int(op.options["Axis"]), len(x.shape) + 1)
    parts = [builder.tensors[index] for index in op.inputs]
    for part in parts:
        must_be_like(builder, x, part)
        if part.shape != x.shape:
            raise ModelError(f"{part.title} must have shape {list(x.shape)} like {x.title}, not {list(part.shape)}")
    title, shape = builder.tensors[op.outputs[0]].name, _longer(x, axis)
    longer = [builder.derived(f"{title}/{k}", Reshape(shape), part, shape) for k, part in enumerate(parts)]
    return joined(longer, axis)


def unpack(builder: NetworkBuilder, op: FileOperator) -> tuple[Built, ...]:
    """The parts of a tensor along an axis, without it."""
    x = moved(builder, op, 1)
    return tuple(_unpacked(builder, op, x, any_axis(int(op.options["Axis"]), len(x.shape))))


def _unpacked(builder: NetworkBuilder, op: FileOperator, x: Tensor, axis: int) -> Iterator[Built]:
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    if len(op.outputs) != x.shape[axis]:
        raise ModelError(f"must write {x.shape[axis]} tensors, one an element of axis {axis}, not {len(op.outputs)}")
    for place, index in enumerate(op.outputs):
        part = box(x, axis, place, 1)
        one = builder.derived(f"{builder.tensors[index].name}/part", part.operator, x, part.shape)
        yield Built(Reshape(shape), (one.index,), shape)


def _longer(x: Tensor, axis: int) -> tuple[int, ...]:
    return (*x.shape[:axis], 1, *x.shape[axis:])
