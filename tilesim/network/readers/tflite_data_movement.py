"""TensorFlow Lite operators that make larger tensors of smaller ones: borders, more pixels, tensors put together.

Source: TensorFlow Lite reference kernels.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tilesim.arithmetic.table import Mapped, rescaling_table
from tilesim.errors import ModelError
from tilesim.network.graph import Tensor
from tilesim.network.operators import Pad, ResizeBilinear, ResizeNearest, Table
from tilesim.network.readers.builder import MAX_ELEMENTS, WIDE_DTYPES, Built, NetworkBuilder
from tilesim.network.readers.moving import joined
from tilesim.network.readers.tflite_file import FileOperator
from tilesim.network.readers.tflite_operands import (
    Ends,
    any_axis,
    check_inputs,
    constant_integers,
    ends_of,
    must_be_like,
    same_scale,
)

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
    x, size, align, centred = _resized(builder, op)
    n, height, width, channels = x.shape
    rows, columns = (
        nearest(old, new, align=align, centred=centred) for old, new in zip((height, width), size, strict=True)
    )
    return Built(ResizeNearest(rows, columns), (x.index,), (n, *size, channels))


def resize_bilinear(builder: NetworkBuilder, op: FileOperator) -> Built:
    x, size, align, centred = _resized(builder, op)
    if align and centred:
        raise ModelError("must not both align corners and count from the middle of pixels")
    rule = "real" if x.dtype == np.uint8 else "fixed"
    operator = ResizeBilinear(size, align, centred, rule)
    return Built(operator, (x.index,), (x.shape[0], *size, x.shape[3]))


def _resized(builder: NetworkBuilder, op: FileOperator) -> tuple[Tensor, tuple[int, int], bool, bool]:
    """A map, the size that it gets, and the two options."""
    ends = ends_of(builder, op, 2, dtypes=WIDE_DTYPES)
    same_scale(ends)
    if len(ends.x.shape) != 4:
        raise ModelError(f"{ends.x.title} must be a map of 4 axes, not of shape {list(ends.x.shape)}")
    height, width = (int(length) for length in constant_integers(builder, op.inputs[1], "size", (2,)))
    n, _, _, channels = ends.x.shape
    if min(height, width) < 1 or max(height, width) > LONGEST_SIDE or n * height * width * channels > MAX_ELEMENTS:
        most = f"1 to {MAX_ELEMENTS} elements, {LONGEST_SIDE} a side"
        raise ModelError(f"its size must make {most}, not {[height, width]}")
    return ends.x, (height, width), bool(op.options["AlignCorners"]), bool(op.options["HalfPixelCenters"])


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
    check_inputs(op, *range(1, 65))
    y = builder.tensors[op.outputs[0]]
    if op.options["FusedActivationFunction"] != 0:
        raise ModelError("a fused activation is not supported")
    axis = any_axis(int(op.options["Axis"]), len(y.shape))
    shapes = [builder.tensors[index].shape for index in op.inputs]
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1 or len(set(map(len, shapes))) > 1:
        raise ModelError(f"its inputs must have shapes that agree but along axis {axis}, not {list(map(list, shapes))}")
    return joined([builder.tensors[_rescaled(builder, index, y)] for index in op.inputs], axis)


def _rescaled(builder: NetworkBuilder, index: int, like: Tensor) -> int:
    """The input of a concatenation in the quantisation of its output."""
    x, known = builder.tensors[index], like.quantisation
    if x.dtype != np.uint8 or like.dtype != np.uint8:
        must_be_like(builder, like, x)
        return index
    x, scale, zero_point = builder.activation(index)
    builder.activation(like.index)
    assert known is not None
    if (scale, zero_point) == (float(known.scale), known.zero_point):
        return index
    ends = Mapped(scale, zero_point, float(known.scale), known.zero_point, x.dtype)
    table = Table("rescale", rescaling_table(ends))
    if x.data is not None:
        return builder.constant(f"{x.name}/rescaled", table.evaluate([x.data]), like)
    return builder.between(f"{x.name}/rescaled", table, index, known)
