"""Sliding windows over feature maps, shared by convolutions and pools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray


class Padding(NamedTuple):
    """Rows and columns added around a map."""

    top: int = 0
    left: int = 0
    bottom: int = 0
    right: int = 0


def pad(x: NDArray[Any], padding: Padding, value: int) -> NDArray[Any]:
    """A map (N, H, W, C) with ``value`` around it."""
    if not any(padding):
        return x
    n, height, width, channels = x.shape
    shape = (n, padding.top + height + padding.bottom, padding.left + width + padding.right, channels)
    out = np.full(shape, value, x.dtype)
    out[:, padding.top : padding.top + height, padding.left : padding.left + width] = x
    return out


def output_size(
    size: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    padding: Padding,
    dilations: tuple[int, int] = (1, 1),
) -> tuple[int, int]:
    """Rows and columns of the result for a map of ``size`` rows and columns; 0 or less where no window fits."""
    rows, columns = size[0] + padding.top + padding.bottom, size[1] + padding.left + padding.right
    return (
        (rows - (window[0] - 1) * dilations[0] - 1) // strides[0] + 1,
        (columns - (window[1] - 1) * dilations[1] - 1) // strides[1] + 1,
    )


def windows(
    padded: NDArray[Any], window: tuple[int, int], strides: tuple[int, int], dilations: tuple[int, int] = (1, 1)
) -> NDArray[Any]:
    """A read-only view (N, H', W', kH, kW, C) of every window of a padded map (N, H, W, C)."""
    n, height, width, channels = padded.shape
    rows, columns = output_size((height, width), window, strides, Padding(), dilations)
    step_n, step_y, step_x, step_c = padded.strides
    steps = (strides[0] * step_y, strides[1] * step_x, dilations[0] * step_y, dilations[1] * step_x)
    return as_strided(padded, (n, rows, columns, *window, channels), (step_n, *steps, step_c), writeable=False)


def taps(view: NDArray[Any]) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Each window position (ky, kx) of :func:`windows` with its map (N, H', W', C)."""
    for ky, kx in np.ndindex(view.shape[3:5]):
        yield ky, kx, view[:, :, :, ky, kx]
