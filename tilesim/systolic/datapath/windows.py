"""Windows over maps: their elements, place by place of the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilesim.systolic.isa.model.instructions import Window

Array = NDArray[Any]


class Box(NamedTuple):
    """Positions of windows: all columns of some output rows of some images."""

    image: int
    images: int
    row: int
    rows: int


def whole(window: Window) -> Box:
    """All positions."""
    return Box(0, window.images, 0, window.output_height)


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
    """Elements at one place of the kernel for the positions of a box.

    Args:
        x: maps (samples, images, height, width, channels).
        window: what runs over them.
        box: which positions.
        place: row and column of the kernel.

    Returns:
        Where, in an array (samples, images, rows, columns, ...) of the box, elements are inside of the map, and those.
    """
    rows, ys = inside(window, 0, place[0], box.row, box.rows)
    columns, xs = inside(window, 1, place[1], 0, window.output_width)
    own = slice(box.image, box.image + box.images)
    return (slice(None), slice(None), rows, columns), x[:, own, ys, xs]


def taps(x: Array, window: Window, outside: int) -> Iterator[Array]:
    """Of each place of the kernel, row by row, its elements at all positions, (samples, images, rows, columns,
    channels); those outside of the map are ``outside``.
    """
    box = whole(window)
    shape = (len(x), box.images, box.rows, window.output_width, x.shape[-1])
    for place in np.ndindex(window.kernel):
        where, found = parts(x, window, box, place)
        if found.shape != shape:
            part, found = found, np.full(shape, outside, x.dtype)
            found[where] = part
        yield found


def counts(window: Window, inside_only: bool) -> NDArray[np.int32]:
    """How many elements count at each output position of a map, (rows, columns)."""
    each = [np.zeros(window.output_height, np.int32), np.zeros(window.output_width, np.int32)]
    for axis, along in enumerate(each):
        for place in range(window.kernel[axis]):
            along[inside(window, axis, place, 0, len(along))[0] if inside_only else slice(None)] += 1
    return np.multiply.outer(each[0], each[1])


def unfolded(
    x: Array, window: Window, first: int, vectors: int, first_row: int, rows: int, zero_point: int
) -> NDArray[np.float32]:
    """Windows as vectors: (samples, vectors, rows) of float32, less the zero point; what is outside of the map is 0.

    Args:
        x: maps (samples, images, height, width, channels).
        window: what runs over them.
        first: number of the first position.
        vectors: how many positions.
        first_row: the first element of each window.
        rows: how many elements of each.
        zero_point: what stands for 0.
    """
    found = [_box(x, window, box, first_row, rows, zero_point) for box in boxes(window, first, vectors)]
    lines = found[0] if len(found) == 1 else np.concatenate(found, axis=1)
    skipped = first % window.output_width
    return lines[:, skipped : skipped + vectors]


def _box(x: Array, window: Window, box: Box, first_row: int, rows: int, zero_point: int) -> NDArray[np.float32]:
    out = np.zeros((len(x), box.images, box.rows, window.output_width, rows), np.float32)
    channels, zero = window.channels, np.float32(zero_point)
    for place in range(first_row // channels, -(-(first_row + rows) // channels)):
        where, found = parts(x, window, box, divmod(place, window.kernel[1]))
        begin = place * channels - first_row  # of the place's first channel, among the rows
        low, high = max(0, -begin), min(channels, rows - begin)
        target = out[(*where, slice(begin + low, begin + high))]
        np.subtract(found[..., low:high], zero, out=target)
    return out.reshape(len(x), -1, rows)
