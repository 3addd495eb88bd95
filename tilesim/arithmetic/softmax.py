"""Softmax over the last axis of quantised integers, through a table of exponentials, in float32.

Source: TensorFlow Lite optimised kernel SOFTMAX (:func:`softmax`); ONNX Runtime QLinearSoftmax
(:func:`softmax_aligned`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVELS = 256
HEADROOM = 5.0
"""Natural logarithm of how far the aligned table's sum stays below float32's limit."""


def softmax(
    x: NDArray[Any], input_scale: float, output_scale: float, output_zero_point: int, clamp: tuple[int, int]
) -> NDArray[Any]:
    """As TensorFlow Lite's optimised kernel: exponentials of the distance to the row's maximum, times one reciprocal,
    half to even.

    Args:
        x: int8 or uint8 (..., n).
        input_scale: real value of one step of ``x``, times the layer's beta; a float32.
        output_scale: real value of one output step; a float32.
        output_zero_point: integer that stands for 0.
        clamp: smallest and largest output.

    Returns:
        Array of ``x``'s shape and dtype.
    """
    with np.errstate(all="ignore"):  # a program may hold bits that are no real scales
        exponents = -np.float32(input_scale) * np.arange(LEVELS, dtype=np.float32)
        values, total = _exponentials(x, _exp(exponents.astype(np.float64)))
        reciprocal = np.float32(1) / (total * np.float32(output_scale))
        return _clamped(np.rint(values * reciprocal) + output_zero_point, clamp, x)


def softmax_aligned(
    x: NDArray[Any], input_scale: float, output_scale: float, output_zero_point: int, clamp: tuple[int, int]
) -> NDArray[Any]:
    """As ONNX Runtime: the table is scaled up towards float32's limit; the output scale is taken as 1 / whole number.

    Arguments and result as for :func:`softmax`.
    """
    with np.errstate(all="ignore"):
        step = np.float64(np.float32(input_scale))
        share = np.float32(math.log(np.finfo(np.float32).max / np.float32(x.shape[-1])))  # rounded: it decides ties
        headroom = max(0.0, float(share) - HEADROOM) / step
        distances = headroom - np.arange(LEVELS, dtype=np.float64)
        values, total = _exponentials(x, _exp(distances * step))
        steps = np.floor(np.float32(1) / np.float32(output_scale))
        return _clamped(np.rint(values * steps / total) + output_zero_point, clamp, x)


def softmax_scaling(input_scale: float, output_scale: float, output_zero_point: int) -> tuple[int, int, int]:
    """What a layer needs, as integers that an instruction can carry: bits of float64 scales, and the zero point."""
    bits = np.array([input_scale, output_scale], np.float64).view(np.int64)
    return int(bits[0]), int(bits[1]), output_zero_point


def smallest_output_scale(classes: int) -> float:
    """The output scale down to which :func:`softmax_aligned` overflows on ``classes`` elements, this one included."""
    return 1 / (classes * math.floor(math.exp(HEADROOM)))


def _exp(exponents: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.exp(exponents).astype(np.float32)


def _exponentials(x: NDArray[Any], table: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Table entries at each distance from the row's maximum, and their float32 sums in order of position."""
    wide = x.astype(np.int16)
    values = table[wide.max(axis=-1, keepdims=True) - wide]
    return values, np.add.accumulate(values, axis=-1)[..., -1:]


def _clamped(values: NDArray[Any], clamp: tuple[int, int], like: NDArray[Any]) -> NDArray[Any]:
    clipped: NDArray[Any] = np.clip(np.nan_to_num(values), *clamp).astype(like.dtype)
    return clipped
