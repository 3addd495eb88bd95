"""From sums to the integers of the next tensor: multiply by a real factor and round, as each format defines it.

==========  =========================================================  ===============================================
rule        result                                                     multiplier, shift
==========  =========================================================  ===============================================
``double``  high half of the product, rounded; then divided by a       Q31 mantissa, power of two
            power of two, rounded half away from zero
``single``  64-bit product, shifted right once with rounding half up   Q31 mantissa, power of two
``long``    the same of 64-bit sums and a mantissa rounded to 15 bits  Q31 mantissa, power of two
``float``   float32 product rounded half to even                       bits of a float32, unused
``wide``    float64 product rounded half away from zero                low and high half of a float64
``divide``  quotient rounded half away from zero                       count, unused
==========  =========================================================  ===============================================

Source: TensorFlow Lite 8-bit quantisation specification and reference kernels (``double``, ``single``, ``long``,
``divide``, ``wide``); ONNX operator specification, QLinearConv (``float``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_ELEMENTS = 1 << 15
"""Elements handled at once: the int64 intermediates of a block stay in the processor's cache."""

BELOW_HALF = 0.5 - 2.0**-54
"""What float64 adds before it cuts off: with a whole half, 0.5 - 2**-54 would become 1."""

MOST_BY_ONE = 62
"""Places to the right for which there is a half in 64 bits; a program may hold any."""

LONG_END, LONG_LARGEST = 0x7FFF0000, 0x7FFF
"""Mantissas from the first on would round to 16 bits; they become the second."""

LONG_SUMS_END = 1 << 47
"""Below it are the sums that ``long`` multiplies in 64 bits."""


def requantise(
    rule: str, accumulators: NDArray[Any], multiplier: NDArray[np.int32], shift: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Scale sums by a real factor for each channel.

    Args:
        rule: ``double``, ``single``, ``long``, ``float``, ``wide`` or ``divide``; see the module.
        accumulators: int32 (..., n), or int64 for ``long``, whose magnitudes are below 2**47.
        multiplier: int32 (n,), or (1,) for all channels.
        shift: int32 of the multiplier's shape, -31 to 30; positive shifts left.

    Returns:
        int32 (..., n), without zero point or clamp. ``float`` and ``wide`` saturate at the int32 range.

    Raises:
        KeyError: for an unknown rule.
    """
    scale = _RULES[rule]
    if accumulators.ndim == 0 or accumulators.size <= BLOCK_ELEMENTS:
        return scale(accumulators, multiplier, shift)
    rows = accumulators.reshape(-1, accumulators.shape[-1])
    step = max(1, BLOCK_ELEMENTS // rows.shape[-1])
    out = np.empty(rows.shape, np.int32)
    for start in range(0, len(rows), step):
        out[start : start + step] = scale(rows[start : start + step], multiplier, shift)
    return out.reshape(accumulators.shape)


def _double(accumulators: NDArray[np.int32], multiplier: NDArray[np.int32], shift: NDArray[np.int32]) -> NDArray[Any]:
    if shift.size == 1 and -MOST_BY_ONE <= shift[0] < 0:
        return _double_by_one(accumulators, int(multiplier[0]), -int(shift[0]))
    right = np.maximum(-shift, 0).astype(np.int64)
    if (shift > 0).any():
        accumulators = accumulators << np.maximum(shift, 0)  # wraps, as the 32-bit shift does
    product = accumulators * multiplier.astype(np.int64)
    product += 1 << 30
    product >>= 31
    # half away from zero: add a half, and take one off what is negative (unless nothing is shifted out)
    negative = product >> 63
    negative &= -(right > 0).astype(np.int64)
    product += negative
    product += (1 << right) >> 1
    product >>= right
    return product.astype(np.int32)


def _double_by_one(accumulators: NDArray[np.int32], multiplier: int, right: int) -> NDArray[Any]:
    """The same in fewer steps, where nothing is shifted to the left and all channels have the same factor."""
    product = np.multiply(accumulators, multiplier, dtype=np.int64)
    product += 1 << 30
    product >>= 31
    product += product >> 63
    product += 1 << (right - 1)
    product >>= right
    return product.astype(np.int32)


def _single(accumulators: NDArray[np.int32], multiplier: NDArray[np.int32], shift: NDArray[np.int32]) -> NDArray[Any]:
    right = 31 - shift.astype(np.int64)
    product = accumulators * multiplier.astype(np.int64)
    product += 1 << (right - 1)
    product >>= right
    return product.astype(np.int32)


def _long(accumulators: NDArray[np.int64], multiplier: NDArray[np.int32], shift: NDArray[np.int32]) -> NDArray[Any]:
    """Shifts of more than 14 to the left count as 14; what leaves 32 bits is cut."""
    reduced = np.where(multiplier < LONG_END, (multiplier.astype(np.int64) + (1 << 15)) >> 16, LONG_LARGEST)
    right = np.maximum(15 - shift.astype(np.int64), 1)
    product = accumulators.astype(np.int64) * reduced
    product += np.int64(1) << (right - 1)
    product >>= right
    return product.astype(np.int32)


def _float(accumulators: NDArray[np.int32], multiplier: NDArray[np.int32], _shift: NDArray[np.int32]) -> NDArray[Any]:
    scale = multiplier.view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = accumulators.astype(np.float32) * scale
    if not np.isfinite(scale).all():  # no real scale, but bits that a program may hold
        scaled = np.nan_to_num(scaled, nan=0.0)
    np.rint(scaled, out=scaled)
    np.clip(scaled, np.float32(-(1 << 31)), np.float32((1 << 31) - 128), out=scaled)  # the float32 below 2**31
    return scaled.astype(np.int32)


def _wide(accumulators: NDArray[np.int32], multiplier: NDArray[np.int32], shift: NDArray[np.int32]) -> NDArray[Any]:
    with np.errstate(all="ignore"):  # bits that a program may hold
        steps = np.nan_to_num(accumulators * wide_factor(multiplier, shift))
    steps += np.copysign(BELOW_HALF, steps)
    np.clip(steps, -(1 << 31), (1 << 31) - 1, out=steps)
    return steps.astype(np.int32)


def _divide(accumulators: NDArray[np.int32], multiplier: NDArray[np.int32], _shift: NDArray[np.int32]) -> NDArray[Any]:
    count = multiplier.astype(np.int64)
    with np.errstate(divide="ignore"):  # a program may hold a count of 0, of which nothing comes
        magnitude = (np.abs(accumulators.astype(np.int64)) + count // 2) // count
    return np.where(accumulators < 0, -magnitude, magnitude).astype(np.int32)


_RULES: Mapping[str, Callable[..., NDArray[np.int32]]] = {
    "double": _double,
    "single": _single,
    "long": _long,
    "float": _float,
    "wide": _wide,
    "divide": _divide,
}


def saturate(
    values: NDArray[np.int32], zero_point: int, clamp: tuple[int, int], dtype: np.dtype[Any] | type[Any]
) -> NDArray[Any]:
    """Add ``zero_point``, clamp to ``clamp`` (inclusive, in output integers), convert to ``dtype``; never overflows."""
    low, high = clamp
    clipped = np.clip(values, low - zero_point, high - zero_point)
    clipped += zero_point
    return clipped.astype(dtype)


def quantise_multiplier(real: float) -> tuple[int, int]:
    """A finite real >= 0 as (Q31 mantissa, shift): ``real ~ mantissa * 2**(shift - 31)``.

    Too small a real becomes (0, 0), too large a one the largest that there is.
    """
    fraction, shift = math.frexp(real)
    mantissa = math.floor(fraction * (1 << 31) + 0.5)
    if mantissa == 1 << 31:
        mantissa, shift = 1 << 30, shift + 1
    if shift < -31:
        return 0, 0
    return ((1 << 31) - 1, 30) if shift > 30 else (mantissa, shift)


def float_bits(value: float | NDArray[Any]) -> NDArray[np.int32]:
    """The bit pattern of float32 value(s) as an int32 array of at least one axis."""
    return np.atleast_1d(np.asarray(value, np.float32)).view(np.int32)


def wide_bits(factor: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Float64 factors (n,) as the rule ``wide`` takes them: their low and their high halves."""
    halves = np.ascontiguousarray(factor, "<f8").view("<i4").reshape(-1, 2).astype(np.int32)
    return halves[:, 0].copy(), halves[:, 1].copy()


def wide_factor(multiplier: NDArray[np.int32], shift: NDArray[np.int32]) -> NDArray[np.float64]:
    """The factors whose halves :func:`wide_bits` gives."""
    return np.stack([multiplier, shift], axis=-1).astype("<i4").view("<f8")[..., 0].astype(np.float64)
