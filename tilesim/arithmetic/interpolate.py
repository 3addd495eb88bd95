"""Maps of other sizes, each pixel a weighted mean of four, two rows by two columns.

``fixed`` counts places in steps of 1/1024 of a pixel, in integers: weights are the distances, the mean is rounded half
away from zero. ``real`` counts them in float32; the mean is added up in it, and cut off after a half is added.

Source: TensorFlow Lite reference kernel RESIZE_BILINEAR, of int8 and int16 (``fixed``) and of uint8 (``real``); ONNX
Runtime on x86 (:func:`weighted`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Places: TypeAlias = tuple[Array, Array, Array]
"""The position before each new one, the one after it, and how far it is from the first."""

ONE = 1 << 10
"""Steps of a pixel."""
BLOCK_ELEMENTS = 1 << 20


def fixed(x: Array, size: tuple[int, int], *, align: bool, centred: bool) -> Array:
    """Of a map (N, H, W, C) one of ``size``; see the module."""
    rows, columns = (_fixed_places(old, new, align, centred) for old, new in zip(x.shape[1:3], size, strict=True))
    return _mixed(x, rows, columns, _fixed_mean)


def _fixed_places(old: int, new: int, align: bool, centred: bool) -> Places:
    spaces = (old - 1, new - 1) if align and new > 1 else (old, new)
    step = (ONE * spaces[0] + spaces[1] // 2) // spaces[1]
    places = np.arange(new, dtype=np.int64) * step
    if centred:
        places += step // 2 - ONE // 2
    before = np.maximum(np.fix(places / ONE).astype(np.int64), 0)
    after = np.minimum(np.fix((places + ONE - 1) / ONE).astype(np.int64), old - 1)
    return before, after, places - ONE * before


def _fixed_mean(corners: list[Array], down: Array, across: Array) -> Array:
    weights = [near * side for near in (ONE - down, down) for side in (ONE - across, across)]
    total = sum(corner.astype(np.int64) * weight for corner, weight in zip(corners, weights, strict=True))
    half = np.where(total > 0, 1 << 19, -(1 << 19))
    return np.asarray(np.fix((total + half) / (1 << 20)))


def real(x: Array, size: tuple[int, int], *, align: bool, centred: bool) -> Array:
    """Of a map (N, H, W, C) one of ``size``; see the module."""
    rows, columns = (_real_places(old, new, align, centred) for old, new in zip(x.shape[1:3], size, strict=True))
    return _mixed(x, rows, columns, _real_mean)


def _real_places(old: int, new: int, align: bool, centred: bool) -> Places:
    spaces = (old - 1, new - 1) if align and new > 1 else (old, new)
    scale = np.float32(spaces[0]) / np.float32(spaces[1])
    places = np.arange(new, dtype=np.float32)
    places = (places + np.float32(0.5)) * scale - np.float32(0.5) if centred else places * scale
    before = np.maximum(np.floor(places).astype(np.int64), 0)
    after = np.minimum(np.ceil(places).astype(np.int64), old - 1)
    return before, after, places - before.astype(np.float32)


def _real_mean(corners: list[Array], down: Array, across: Array) -> Array:
    a, b, c, d = (corner.astype(np.float32) for corner in corners)
    top, left = np.float32(1) - down, np.float32(1) - across
    total = a * top * left + c * down * left + b * top * across + d * down * across + np.float32(0.5)
    return np.asarray(np.trunc(total))


def weighted(
    x: NDArray[np.float32],
    rows: Sequence[tuple[int, int, float, float]],
    columns: Sequence[tuple[int, int, float, float]],
) -> NDArray[np.float32]:
    """Of a map (N, H, W, C) one of other rows and columns: each is two of the map's, each of a weight. The sum of four
    products is made from left to right, in float32: the first row's two, then the second's.
    """
    down, across = ([np.array(column) for column in zip(*places, strict=True)] for places in (rows, columns))
    products = [
        x[:, row][:, :, column] * (wide.astype(np.float32) * high.astype(np.float32)[:, None])[..., None]
        for row, high in ((down[0], down[2]), (down[1], down[3]))
        for column, wide in ((across[0], across[2]), (across[1], across[3]))
    ]
    return np.asarray(products[0] + products[1] + products[2] + products[3], np.float32)


def _mixed(x: Array, rows: Places, columns: Places, mean: Callable[[list[Array], Array, Array], Array]) -> Array:
    """Row by row of the result, in blocks."""
    made = np.empty((len(x), len(rows[0]), len(columns[0]), x.shape[3]), x.dtype)
    step = max(1, BLOCK_ELEMENTS // max(1, made[:, 0].size))
    for start in range(0, made.shape[1], step):
        some = slice(start, start + step)
        corners = [x[:, row[some]][:, :, column] for row in rows[:2] for column in columns[:2]]
        made[:, some] = mean(corners, rows[2][some, None, None], columns[2][:, None])
    return made


RULES: Mapping[str, Callable[..., Array]] = {"fixed": fixed, "real": real}
"""How the means are computed."""
