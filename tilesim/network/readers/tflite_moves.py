"""TensorFlow Lite operators that only move numbers, whatever these are: other orders, copies, places.

Source: TensorFlow Lite reference kernels.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tilesim.errors import ArrayError, ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import Cast, DepthToSpace, Gather, GatherNd, Reshape, SpaceToDepth, Tile
from tilesim.network.operators.gather import must_be_places
from tilesim.network.readers.builder import INTEGER_DTYPES, MAX_ELEMENTS, Built, NetworkBuilder, first_of
from tilesim.network.readers.fault import wrong_type
from tilesim.network.readers.moving import bearable, transposed
from tilesim.network.readers.tflite_file import FileOperator
from tilesim.network.readers.tflite_operands import any_axis, check_inputs, constant_integers, moved

MOST_AXES = 6
"""Axes that a kernel transposes."""


def transpose(builder: NetworkBuilder, op: FileOperator) -> Built:
    x = moved(builder, op, 2)
    given = constant_integers(builder, op.inputs[1], "order of axes", (len(x.shape),))
    axes = tuple(any_axis(int(axis), len(x.shape)) for axis in given)
    if sorted(axes) != list(range(len(axes))) or len(axes) > MOST_AXES:
        raise ModelError(f"its order must name each of {MOST_AXES} axes at most once, not be {given.tolist()}")
    return transposed(x, axes)


def tile(builder: NetworkBuilder, op: FileOperator) -> Built:
    x = moved(builder, op, 2)
    given = constant_integers(builder, op.inputs[1], "multiples", (len(x.shape),))
    times = tuple(int(count) for count in given)
    if min(times, default=0) < 1 or prod(times) * prod(x.shape) > MAX_ELEMENTS:
        raise ModelError(
            f"its multiples must be at least 1 and make at most {MAX_ELEMENTS} elements, not {list(times)}"
        )
    shape = tuple(length * count for length, count in zip(x.shape, times, strict=True))
    return Built(Tile(times, x.shape[0]), (x.index,), shape)


def cast(builder: NetworkBuilder, op: FileOperator) -> Built:
    """Integers as they are, whatever their scale: into a wider type, a narrower one, or reals."""
    check_inputs(op, 1)
    x, y = builder.tensors[op.inputs[0]], builder.tensors[op.outputs[0]]
    if x.dtype not in INTEGER_DTYPES:
        raise wrong_type(f"{x.title} must be integers", x.dtype.name)
    if x.dtype == y.dtype:
        return Built(Reshape(x.shape), (x.index,), x.shape)
    return Built(Cast(y.dtype), (x.index,), x.shape)


def gather(builder: NetworkBuilder, op: FileOperator) -> Built:
    x, places = moved(builder, op, 2), _places(builder, op)
    axis, shared = any_axis(int(op.options["Axis"]), len(x.shape)), int(op.options["BatchDims"])
    shared += len(places.shape) if shared < 0 else 0
    if not 0 <= shared <= min(axis, len(places.shape)) or x.shape[:shared] != places.shape[:shared]:
        raise ModelError(
            f"must share the first axes of {x.title} and {places.title}, up to its axis {axis}, not {shared} of shapes "
            f"{list(x.shape)} and {list(places.shape)}"
        )
    _must_have(places, x.shape[axis])
    shape = (*x.shape[:axis], *places.shape[shared:], *x.shape[axis + 1 :])
    return Built(Gather(axis, shared, (first_of(x), first_of(places))), (x.index, places.index), bearable(shape))


def gather_nd(builder: NetworkBuilder, op: FileOperator) -> Built:
    x, places = moved(builder, op, 2), _places(builder, op)
    count = places.shape[-1] if places.shape else 0
    if not 0 < count <= len(x.shape):
        raise ModelError(f"{places.title} must have places along 1 to {len(x.shape)} axes, not {count}")
    if places.data is not None:
        for axis in range(count):
            _must_have(places, x.shape[axis], axis)
    shape = (*places.shape[:-1], *x.shape[count:])
    return Built(GatherNd((first_of(x), first_of(places))), (x.index, places.index), bearable(shape))


def _places(builder: NetworkBuilder, op: FileOperator) -> Tensor:
    places = builder.tensors[op.inputs[1]]
    if places.dtype not in (np.int32, np.int64):
        raise wrong_type(f"its places {places.title} must be int32 or int64", places.dtype.name)
    return places


def _must_have(places: Tensor, length: int, axis: int | None = None) -> None:
    """Refuse constant places beyond an axis."""
    if places.data is None:
        return
    try:
        must_be_places(places.data if axis is None else places.data[..., axis], length)
    except ArrayError as error:
        raise ModelError(f"its places {places.title}: {fault}" for fault in error.faults) from None


def depth_to_space(builder: NetworkBuilder, op: FileOperator) -> Built:
    x, block = _blocks(builder, op)
    n, height, width, channels = x.shape
    if channels % block**2:
        raise ModelError(f"{x.title} must have a multiple of {block**2} channels, not {channels}")
    return Built(DepthToSpace(block), (x.index,), (n, height * block, width * block, channels // block**2))


def space_to_depth(builder: NetworkBuilder, op: FileOperator) -> Built:
    x, block = _blocks(builder, op)
    n, height, width, channels = x.shape
    if height % block or width % block:
        raise ModelError(f"{x.title} must have multiples of {block} rows and columns, not {height} and {width}")
    return Built(SpaceToDepth(block), (x.index,), (n, height // block, width // block, channels * block**2))


def _blocks(builder: NetworkBuilder, op: FileOperator) -> tuple[Tensor, int]:
    x, block = moved(builder, op, 1), int(op.options["BlockSize"])
    if len(x.shape) != 4 or block < 1:
        raise ModelError(f"must work on a map of 4 axes, by blocks of at least 1, not on {list(x.shape)} by {block}")
    return x, block
