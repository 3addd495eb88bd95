"""Element-wise addition of two quantised tensors of different scales.

``double`` brings both operands to a common scale in fixed point; ``float`` is one fused multiply-add an operand, a's
last: exact products, each sum rounded to float32 once, that of the zero points too; ``real`` is a sum of reals, see
:mod:`tilesim.arithmetic.reals`.
Everything that a layer needs, zero points included, is a short tuple of int32 values, so that an instruction can carry
it.

Source: TensorFlow Lite reference kernel ADD (``double``); ONNX Runtime QLinearAdd, as measured on x86 (``float``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.reals import combined, rounded
from tilesim.arithmetic.requantise import float_bits, quantise_multiplier, requantise
from tilesim.arithmetic.table import inputs

HEADROOM_BITS = 20
"""Left shift of the operands in fixed point before they are scaled down to the common scale."""

FixedScaling = tuple[int, int, int, int, int, int, int, int, int]
"""(zero point, multiplier, shift) of a, of b and of the output."""

FloatScaling = tuple[int, int, int]
"""Bits of scale_a / scale_y, of scale_b / scale_y and of the constant, which is what all zero points come to."""


def add_scaling_fixed(scales: tuple[float, float, float], zero_points: tuple[int, int, int]) -> FixedScaling:
    """The tuple of rule ``double`` for scales and zero points of (a, b, output)."""
    twice = 2 * max(scales[:2])
    a, b = (quantise_multiplier(scale / twice) for scale in scales[:2])
    out = quantise_multiplier(twice / ((1 << HEADROOM_BITS) * scales[2]))
    return (zero_points[0], *a, zero_points[1], *b, zero_points[2], *out)


def add_scaling_float(scales: tuple[float, float, float], zero_points: tuple[int, int, int]) -> FloatScaling:
    """The tuple of rule ``float`` for scales and zero points of (a, b, output)."""
    scale_a, scale_b, scale_y = (np.float32(scale) for scale in scales)
    ratio_a, ratio_b = scale_a / scale_y, scale_b / scale_y
    a, b, y = (np.float32(zero_point) for zero_point in zero_points)
    constant = y - _fused(a, ratio_a, ratio_b * b)
    bits = [int(float_bits(float(value))[0]) for value in (ratio_a, ratio_b, constant)]
    return (bits[0], bits[1], bits[2])


def add(rule: str, a: NDArray[Any], b: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[np.int32]:
    """Sum of raw integers ``a`` and ``b`` (shapes that broadcast) as int32 output integers: zero point in, clamp not.

    Raises:
        KeyError: for a rule other than ``double``, ``float`` and ``real``.
    """
    return _RULES[rule](a, b, scaling)


def _double(a: NDArray[Any], b: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[np.int32]:
    total = _common(a, *scaling[0:3]) + _common(b, *scaling[3:6])
    zero_point, multiplier, shift = scaling[6:9]
    return _scaled(total, multiplier, shift) + np.int32(zero_point)


def _common(x: NDArray[Any], zero_point: int, multiplier: int, shift: int) -> NDArray[np.int32]:
    if x.dtype.itemsize == 1:
        return _common_table(x.dtype, zero_point, multiplier, shift).take(np.ascontiguousarray(x).view(np.uint8))
    return _scaled((x.astype(np.int32) - np.int32(zero_point)) << HEADROOM_BITS, multiplier, shift)


@lru_cache(maxsize=256)
def _common_table(dtype: np.dtype[Any], zero_point: int, multiplier: int, shift: int) -> NDArray[np.int32]:
    """What each byte becomes at the common scale."""
    return _common(inputs(dtype).astype(np.int32), zero_point, multiplier, shift)


def _scaled(x: NDArray[np.int32], multiplier: int, shift: int) -> NDArray[np.int32]:
    return requantise("double", x, np.array([multiplier], np.int32), np.array([shift], np.int32))


def _float(a: NDArray[Any], b: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[np.int32]:
    ratio_a, ratio_b, constant = np.array(scaling, np.int32).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # ratios may be any bits, also none that are a number
        return rounded(_fused(a, ratio_a, _fused(b, ratio_b, constant)))


def _fused(x: Any, ratio: np.float32, more: Any) -> NDArray[np.float32]:
    """``x * ratio + more`` rounded once: float64 holds what a byte and a float32 make, whole."""
    return np.asarray(x * np.float64(ratio) + more, np.float32)


_RULES: Mapping[str, Callable[..., NDArray[np.int32]]] = {
    "double": _double,
    "float": _float,
    "real": partial(combined, np.add),
}
