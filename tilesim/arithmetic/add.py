"""Element-wise addition of two quantised tensors of different scales.

``double`` and ``double16`` bring both operands to a common scale in fixed point, of bytes and of int16; ``shift`` is
for int16 with scales that are powers of two: each operand is shifted to the right, rounded half away from zero;
``float`` is one fused multiply-add an operand, a's last: exact products, each sum rounded to float32 once, that of the
zero points too; ``real`` is a sum of reals, see :mod:`tilesim.arithmetic.reals`.
Everything that a layer needs, zero points included, is a short tuple of int32 values, so that an instruction can carry
it. A difference is the sum with the opposite of the second operand's factor.

Source: TensorFlow Lite reference kernels ADD and SUB (``double``, ``double16``, ``shift``); ONNX Runtime QLinearAdd, as
measured on x86 (``float``).
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

HEADROOM_BITS: Mapping[str, int] = {"double": 20, "double16": 15}
"""Left shift of the operands in fixed point before they are scaled down to the common scale."""

ShiftScaling = tuple[int, int, int]
"""Places to the right of a and of b, and the sign of b."""

FixedScaling = tuple[int, int, int, int, int, int, int, int, int]
"""(zero point, multiplier, shift) of a, of b and of the output."""

FloatScaling = tuple[int, int, int]
"""Bits of scale_a / scale_y, of scale_b / scale_y and of the constant, which is what all zero points come to."""


def add_scaling_fixed(
    scales: tuple[float, float, float], zero_points: tuple[int, int, int], rule: str = "double"
) -> FixedScaling:
    """The tuple of rule ``double`` or ``double16`` for scales and zero points of (a, b, output)."""
    twice = 2 * max(scales[:2])
    a, b = (quantise_multiplier(scale / twice) for scale in scales[:2])
    out = quantise_multiplier(twice / ((1 << HEADROOM_BITS[rule]) * scales[2]))
    return (zero_points[0], *a, zero_points[1], *b, zero_points[2], *out)


def opposite(rule: str, scaling: tuple[int, ...]) -> tuple[int, ...]:
    """What takes b away instead, of the rules in fixed point."""
    factor = 2 if rule == "shift" else 4
    return (*scaling[:factor], -scaling[factor], *scaling[factor + 1 :])


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
        KeyError: for a rule other than ``double``, ``double16``, ``shift``, ``float`` and ``real``.
    """
    return _RULES[rule](a, b, scaling)


def _double(bits: int, a: NDArray[Any], b: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[np.int32]:
    total = _common(a, bits, *scaling[0:3]) + _common(b, bits, *scaling[3:6])
    zero_point, multiplier, shift = scaling[6:9]
    return _scaled(total, multiplier, shift) + np.int32(zero_point)


def _common(x: NDArray[Any], bits: int, zero_point: int, multiplier: int, shift: int) -> NDArray[np.int32]:
    if x.dtype.itemsize == 1:
        return _common_table(x.dtype, bits, zero_point, multiplier, shift).take(np.ascontiguousarray(x).view(np.uint8))
    return _scaled((x.astype(np.int32) - np.int32(zero_point)) << bits, multiplier, shift)


@lru_cache(maxsize=256)
def _common_table(dtype: np.dtype[Any], bits: int, zero_point: int, multiplier: int, shift: int) -> NDArray[np.int32]:
    """What each byte becomes at the common scale."""
    return _common(inputs(dtype).astype(np.int32), bits, zero_point, multiplier, shift)


def _scaled(x: NDArray[np.int32], multiplier: int, shift: int) -> NDArray[np.int32]:
    return requantise("double", x, np.array([multiplier], np.int32), np.array([shift], np.int32))


def _shift(a: NDArray[Any], b: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[np.int32]:
    right_a, right_b, sign = scaling
    return _shifted(a, right_a) + np.int32(sign) * _shifted(b, right_b)


def _shifted(x: NDArray[Any], right: int) -> NDArray[np.int32]:
    """Half away from zero."""
    wide = x.astype(np.int32)
    return np.asarray(np.sign(wide) * ((np.abs(wide) + ((1 << right) >> 1)) >> right), np.int32)


def _float(a: NDArray[Any], b: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[np.int32]:
    ratio_a, ratio_b, constant = np.array(scaling, np.int32).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # ratios may be any bits, also none that are a number
        return rounded(_fused(a, ratio_a, _fused(b, ratio_b, constant)))


def _fused(x: Any, ratio: np.float32, more: Any) -> NDArray[np.float32]:
    """``x * ratio + more`` rounded once: float64 holds what a byte and a float32 make, whole."""
    return np.asarray(x * np.float64(ratio) + more, np.float32)


_RULES: Mapping[str, Callable[..., NDArray[np.int32]]] = {
    "double": partial(_double, HEADROOM_BITS["double"]),
    "double16": partial(_double, HEADROOM_BITS["double16"]),
    "shift": _shift,
    "float": _float,
    "real": partial(combined, np.add),
}
