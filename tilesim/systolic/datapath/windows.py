"""Windows over maps: their elements, place by place of the kernel; pooled, or unfolded into vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.average import average
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.systolic.isa.model.instructions import Pooling, Window

Array = NDArray[Any]


class Box(NamedTuple):
    """Positions of windows: all columns of some output rows of some images."""

    image: int
    images: int
    row: int
    rows: int


def boxes(window: Window, first: int, vectors: int) -> Iterator[Box]:
    """Boxes, one after the other, that hold the positions ``first`` and following, and no more than whole rows."""
    height, width = window.output_height, window.output_width
    row, end = first // width, -(-(first + vectors) // width)
    while row < end:
        image, within = divmod(row, height)
        several = (end - row) // height if within == 0 else 0
        box = Box(image, several, 0, height) if several else Box(image, 1, within, min(height - within, end - row))
        yield box
        row += box.images * box.rows


def inside(window: Window, axis: int, place: int, first: int, count: int) -> tuple[slice, slice]:
    """Along one axis: which of ``count`` positions from ``first`` on have their element of kernel ``place`` inside of
    the map, and where in the map it is.
    """
    size = (window.height, window.width)[axis]
    stride, start = window.strides[axis], place * window.dilations[axis] - window.padding[axis]
    low = max(first, -(start // stride))
    high = min(first + count, (size - 1 - start) // stride + 1)
    if high <= low:
        return slice(0, 0), slice(0, 0)
    begin = low * stride + start
    return slice(low - first, high - first), slice(begin, begin + (high - low - 1) * stride + 1, stride)


def parts(x: Array, window: Window, box: Box, place: tuple[int, int]) -> tuple[tuple[slice, ...], Array]:
    """The elements of maps ``x``, (samples, images, height, width, channels), at one ``place`` of the kernel, row and
    column, for the positions of a box: where, in an array (samples, images, rows, columns, ...) of the box, they are
    inside of the map, and those.
    """
    rows, ys = inside(window, 0, place[0], box.row, box.rows)
    columns, xs = inside(window, 1, place[1], 0, window.output_width)
    own = slice(box.image, box.image + box.images)
    return (slice(None), slice(None), rows, columns), x[:, own, ys, xs]


def taps(x: Array, window: Window, outside: int) -> Iterator[Array]:
    """Of each place of the kernel, row by row, its elements at all positions, (samples, images, rows, columns,
    channels); those outside of the map are ``outside``.
    """
    box = Box(0, window.images, 0, window.output_height)
    shape = (len(x), box.images, box.rows, window.output_width, x.shape[-1])
    for place in np.ndindex(window.kernel):
        where, elements = parts(x, window, box, place)
        if elements.shape != shape:
            part, elements = elements, np.full(shape, outside, x.dtype)
            elements[where] = part
        yield elements


def counts(window: Window, inside_only: bool) -> NDArray[np.int32]:
    """How many elements count at each output position of a map, (rows, columns)."""
    rows, columns = np.zeros(window.output_height, np.int32), np.zeros(window.output_width, np.int32)
    for axis, along in enumerate((rows, columns)):
        for place in range(window.kernel[axis]):
            along[inside(window, axis, place, 0, len(along))[0] if inside_only else slice(None)] += 1
    return np.multiply.outer(rows, columns)


def pooled(pooling: Pooling, window: Window, x: Array) -> Array:
    """Pooled maps (samples, images, height, width, channels): (samples, positions, channels) of their dtype."""
    if pooling.function == "average":
        values = _average(pooling, window, x)
    else:
        limits, largest = np.iinfo(x.dtype), pooling.function == "max"
        outside, pick = (limits.min, np.maximum) if largest else (limits.max, np.minimum)
        values = np.clip(reduce(pick, taps(x, window, int(outside))), *pooling.clamp)
    return values.reshape(len(x), window.positions, x.shape[-1])


def _average(pooling: Pooling, window: Window, x: Array) -> Array:
    number = counts(window, pooling.inside_only)
    scalings = {count: tuple(scaling) for count, *scaling in pooling.scalings}
    out = np.empty((*x.shape[:2], *number.shape, x.shape[-1]), x.dtype)
    for count in np.unique(number):
        own = number == count
        elements = (tap[:, :, own] for tap in taps(x, window, pooling.input_zero_point))
        out[:, :, own] = _averages(pooling, elements, scalings[int(count)], x.dtype)
    return out


def _averages(pooling: Pooling, elements: Iterable[Array], scaling: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if pooling.rule == "real":
        return saturate(average(elements, scaling), 0, pooling.clamp, dtype)
    zero = np.int32(pooling.input_zero_point)
    sums = reduce(np.add, (tap.astype(np.int32) - zero for tap in elements))
    multiplier, shift = (np.array([value], np.int32) for value in scaling)
    return saturate(requantise(pooling.rule, sums, multiplier, shift), pooling.zero_point, pooling.clamp, dtype)


def unfolded(
    x: Array, window: Window, first: int, vectors: int, first_row: int, rows: int, zero_point: int
) -> NDArray[np.float32]:
    """Windows over maps ``x``, (samples, images, height, width, channels), as vectors: (samples, vectors, rows) of
    float32, less the zero point; what is outside of the map is 0. There is one for each of ``vectors`` positions from
    number ``first`` on, of the ``rows`` elements of its window from ``first_row`` on.
    """
    blocks = [_box(x, window, box, first_row, rows, zero_point) for box in boxes(window, first, vectors)]
    lines = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
    skipped = first % window.output_width
    return lines[:, skipped : skipped + vectors]


def _box(x: Array, window: Window, box: Box, first_row: int, rows: int, zero_point: int) -> NDArray[np.float32]:
    out = np.zeros((len(x), box.images, box.rows, window.output_width, rows), np.float32)
    channels, zero = window.channels, np.float32(zero_point)
    for place in range(first_row // channels, -(-(first_row + rows) // channels)):
        where, elements = parts(x, window, box, divmod(place, window.kernel[1]))
        begin = place * channels - first_row  # of the place's first channel, among the rows
        low, high = max(0, -begin), min(channels, rows - begin)
        target = out[(*where, slice(begin + low, begin + high))]
        np.subtract(elements[..., low:high], zero, out=target)
    return out.reshape(len(x), -1, rows)
