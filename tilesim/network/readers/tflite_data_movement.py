"""TensorFlow Lite operators that only move integers: borders, copies of pixels, tensors put together and cut apart.

Source: TensorFlow Lite reference kernels.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod

import numpy as np

from tilesim.arithmetic.table import Mapped, rescaling_table
from tilesim.errors import ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import Concatenation, Pad, ResizeNearest, Slice, Table
from tilesim.network.readers.builder import MAX_ELEMENTS, WIDE_DTYPES, Built, NetworkBuilder
from tilesim.network.readers.tflite_file import FileOperator
from tilesim.network.readers.tflite_operands import Ends, axis_of, check_inputs, constant_integers, ends_of, same_scale

LONGEST_SIDE = 1 << 16
MOST_BORDER = 1 << 16
"""Elements that a border may be wide."""


def pad(builder: NetworkBuilder, op: FileOperator) -> Built:
    """PAD's border is the zero point, PADV2's a constant."""
    ends = ends_of(builder, op, 2, 3, dtypes=WIDE_DTYPES)
    same_scale(ends)
    borders = constant_integers(builder, op.inputs[1], "paddings", (len(ends.x.shape), 2))
    if borders.min() < 0 or borders.max() > MOST_BORDER or borders[0].any():
        raise ModelError(f"its paddings must be 0 to {MOST_BORDER}, and 0 along the first axis, not {borders.tolist()}")
    before, after = (tuple(int(count) for count in side) for side in borders.T)
    shape = tuple(sum(sizes) for sizes in zip(before, ends.x.shape, after, strict=True))
    _check_size(shape)
    value = ends.y_zero if len(op.inputs) == 2 else _value(builder, op.inputs[2], ends)
    return Built(Pad(before, after, value), (ends.x.index,), shape)


def _value(builder: NetworkBuilder, index: int, ends: Ends) -> int:
    constant, scale, zero_point = builder.activation(index, WIDE_DTYPES)
    if constant.data is None or constant.data.size != 1 or constant.dtype != ends.y.dtype:
        raise ModelError(f"its value {constant.title} must be one constant of {ends.y.dtype}")
    if (scale, zero_point) != (ends.y_scale, ends.y_zero):
        raise ModelError(f"its value {constant.title} must have the scale and zero point of {ends.y.title}")
    return int(constant.data.reshape(()))


def _check_size(shape: tuple[int, ...]) -> None:
    if prod(shape) > MAX_ELEMENTS:
        raise ModelError(f"must make at most {MAX_ELEMENTS} elements, not shape {list(shape)}")


def resize_nearest(builder: NetworkBuilder, op: FileOperator) -> Built:
    ends = ends_of(builder, op, 2)
    same_scale(ends)
    if len(ends.x.shape) != 4:
        raise ModelError(f"{ends.x.title} must be a map of 4 axes, not of shape {list(ends.x.shape)}")
    size = [int(length) for length in constant_integers(builder, op.inputs[1], "size", (2,))]
    n, height, width, channels = ends.x.shape
    if min(size) < 1 or max(size) > LONGEST_SIDE or n * prod(size) * channels > MAX_ELEMENTS:
        raise ModelError(f"its size must make 1 to {MAX_ELEMENTS} elements, {LONGEST_SIDE} a side, not {size}")
    align, centred = bool(op.options["AlignCorners"]), bool(op.options["HalfPixelCenters"])
    rows, columns = (
        nearest(old, new, align=align, centred=centred) for old, new in zip((height, width), size, strict=True)
    )
    return Built(ResizeNearest(rows, columns), (ends.x.index,), (n, *size, channels))


def nearest(old: int, new: int, *, align: bool, centred: bool) -> tuple[int, ...]:
    """The position among ``old`` ones that each of ``new`` ones copies, in float32.

    ``align``: first and last stay first and last, and positions round to the nearest; else they round down.
    ``centred``: positions count from the middle of a pixel.
    """
    scale = np.float32(old - 1) / np.float32(new - 1) if align and new > 1 else np.float32(old) / np.float32(new)
    places = (np.arange(new, dtype=np.float32) + np.float32(0.5 if centred else 0.0)) * scale
    rounded = np.floor(places.astype(np.float64) + 0.5) if align else np.floor(places)
    return tuple(int(place) for place in np.clip(rounded, 0, old - 1))


def concatenation(builder: NetworkBuilder, op: FileOperator) -> Built:
    """The inputs one after the other; of uint8, those of other quantisations are rescaled first."""
    ends = ends_of(builder, op, *range(1, 65), dtypes=WIDE_DTYPES)
    if op.options["FusedActivationFunction"] != 0:
        raise ModelError("a fused activation is not supported")
    axis = axis_of(int(op.options["Axis"]), len(ends.y.shape))
    shapes = [builder.tensors[index].shape for index in op.inputs]
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1 or len(set(map(len, shapes))) > 1:
        raise ModelError(f"its inputs must have shapes that agree but along axis {axis}, not {list(map(list, shapes))}")
    inputs = tuple(_rescaled(builder, index, ends.y) for index in op.inputs)
    total = sum(shape[axis] for shape in shapes)
    return Built(Concatenation(axis), inputs, (*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


def _rescaled(builder: NetworkBuilder, index: int, like: Tensor) -> int:
    """The input of a concatenation in the quantisation of its output."""
    x, scale, zero_point = builder.activation(index, WIDE_DTYPES)
    known = like.quantisation
    assert known is not None
    if x.dtype != like.dtype or x.data is not None:
        raise ModelError(f"{x.title} must be an activation of {like.dtype} like {like.title}")
    if (scale, zero_point) == (float(known.scale), known.zero_point):
        return index
    if x.dtype != np.uint8:
        raise ModelError(f"{x.title} must have the scale and zero point of {like.title}, as all inputs of {x.dtype}")
    ends = Mapped(scale, zero_point, float(known.scale), known.zero_point, x.dtype)
    return builder.between(f"{x.name}/rescaled", Table("rescale", rescaling_table(ends)), index, known)


def split(builder: NetworkBuilder, op: FileOperator) -> tuple[Built, ...]:
    """As many boxes as there are outputs, of equal size."""
    check_inputs(op, 2)
    x, x_scale, x_zero = builder.activation(op.inputs[1])
    axis = axis_of(int(constant_integers(builder, op.inputs[0], "axis").reshape(-1)[0]), len(x.shape))
    count = int(op.options["NumSplits"])
    if not 0 < count <= x.shape[axis] or x.shape[axis] % count:
        raise ModelError(f"must cut the {x.shape[axis]} elements of axis {axis} into equal parts, not into {count}")
    for index in op.outputs:
        y, y_scale, y_zero = builder.activation(index)
        if (y.dtype, y_scale, y_zero) != (x.dtype, x_scale, x_zero):
            raise ModelError(f"{y.title} must have the type, scale and zero point of {x.title}")
    part = x.shape[axis] // count
    size = (*x.shape[:axis], part, *x.shape[axis + 1 :])
    starts = accumulate([part] * (count - 1), initial=0)
    zeros = (0,) * len(x.shape)
    return tuple(Built(Slice((*zeros[:axis], start, *zeros[axis + 1 :]), size), (x.index,), size) for start in starts)
