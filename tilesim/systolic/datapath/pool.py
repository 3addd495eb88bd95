"""The largest, smallest or average element of windows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.average import average
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.systolic.datapath.memories import Commit, Memories, at, maps, writing
from tilesim.systolic.datapath.windows import counts, taps
from tilesim.systolic.isa.model.instructions import Pool, Pooling, Window

Array = NDArray[Any]


def prepare(op: Pool, memories: Memories) -> Commit:
    """Pool maps of the unified buffer."""
    values = pooled(op.pool, op.window, maps(memories.buffer, op.window, op.element))
    shape, strides = values.shape[1:], (op.stride_bytes, values.itemsize)
    return writing(at(memories.buffer, op.address, shape, strides, op.element), values)


def pooled(pooling: Pooling, window: Window, x: Array) -> Array:
    """Pooled maps (samples, images, height, width, channels): (samples, positions, channels) of their dtype."""
    if pooling.function == "average":
        values = _average(pooling, window, x)
    else:
        limits = np.iinfo(x.dtype)
        values = (
            reduce(np.maximum, taps(x, window, int(limits.min)))
            if pooling.function == "max"
            else reduce(np.minimum, taps(x, window, int(limits.max)))
        )
        values = np.clip(values, *pooling.clamp)
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
