"""Softmax over the last axis of quantised integers, in fixed point of 32 bits.

A number with n integer bits is an int32 that counts steps of 2**(n - 31). Products keep the high half, rounded. An
exponential is a product: of a Taylor polynomial about -1/8 for what is left of its argument after quarters, and of a
constant for each bit that the quarters have. The reciprocal of the sum is three of Newton's steps.

Source: TensorFlow Lite reference kernel SOFTMAX and gemmlowp's fixed-point functions, which it is made of.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import quantise_multiplier

Fixed = NDArray[np.int64]

LEVELS = 256
ONE = (1 << 31) - 1
"""The largest number without integer bits."""
ARGUMENT_BITS = 5
"""Integer bits of an exponential's argument."""
SUM_BITS = 12
"""Integer bits of a row's sum."""
QUARTER = 1 << (31 - ARGUMENT_BITS - 2)


def softmax_fixed(
    x: NDArray[Any], input_scale: float, _output_scale: float, output_zero_point: int, clamp: tuple[int, int]
) -> NDArray[Any]:
    """Exponentials of the distance to the row's maximum, times the reciprocal of their sum.

    Arguments and result as for :func:`~tilesim.arithmetic.softmax.softmax`, but that the input's scale is a float64
    above :func:`smallest_scale`, and the output's is 1 / 256, whatever is said.
    """
    wide = x.astype(np.int64)
    distances = wide.max(axis=-1, keepdims=True) - wide
    values, counted = _exponentials(input_scale)
    own = np.where(counted[distances], values[distances], 0)
    total = np.minimum(_halved(own, SUM_BITS).sum(axis=-1, keepdims=True), ONE)
    spare = 31 - (np.frexp(total.astype(np.float64))[1])  # bits above its highest, but for the sign
    reciprocal = _reciprocal((total << (spare + 1)) - (1 << 31))
    steps = _halved(_product(reciprocal, own), SUM_BITS - spare - 1 + 31 - 8)
    return np.clip(steps + output_zero_point, *clamp).astype(x.dtype)


def smallest_scale() -> float:
    """The input's scale, with beta, that is too small for this function, as are those below it."""
    return 2.0 ** (ARGUMENT_BITS - 31)


def _exponentials(scale: float) -> tuple[Fixed, NDArray[np.bool_]]:
    """exp(-scale * d) of each distance d, without integer bits, and whether it counts at all."""
    steps = scale * (1 << (31 - ARGUMENT_BITS))
    mantissa, shift = quantise_multiplier(min(steps, float(ONE))) if steps > 1 else (0, 0)  # a program may hold any
    largest = ((1 << ARGUMENT_BITS) - 1) * (1 << (31 - ARGUMENT_BITS)) / (1 << shift)
    distances = np.arange(LEVELS, dtype=np.int64)
    counted = distances <= math.floor(largest)
    arguments = _product(np.where(counted, -distances, 0) << shift, mantissa)
    return _exponential(arguments), counted


def _exponential(argument: Fixed) -> Fixed:
    """Of numbers from -32 to 0 with :data:`ARGUMENT_BITS` integer bits."""
    within = (argument & (QUARTER - 1)) - QUARTER
    result = _exponential_within_a_quarter(within << ARGUMENT_BITS)
    quarters = within - argument
    for power in range(-2, ARGUMENT_BITS):
        factor = round(math.exp(-(2.0**power)) * (1 << 31))
        there = quarters & (1 << (31 - ARGUMENT_BITS + power)) != 0
        result = np.where(there, _product(result, factor), result)
    return np.where(argument == 0, ONE, result)


def _exponential_within_a_quarter(a: Fixed) -> Fixed:
    """Of numbers from -1/4 to 0 without integer bits: exp(-1/8) * (1 + x + x**2 / 2 + x**3 / 6 + x**4 / 24)."""
    middle, third = round(math.exp(-1 / 8) * (1 << 31)), round((1 << 31) / 3)
    x = a + (1 << 28)
    square = _product(x, x)
    cube, fourth = _product(square, x), _product(square, square)
    return middle + _product(x + _halved(_product(_halved(fourth, 2) + cube, third) + square, 1), middle)


def _reciprocal(a: Fixed) -> Fixed:
    """1 / (1 + a) of numbers from 0 to 1 without integer bits; in between, numbers have two."""
    half = (a + ONE + 1) >> 1
    x = round(48 / 17 * (1 << 29)) + _product(half, round(-32 / 17 * (1 << 29)))
    for _ in range(3):
        x = x + (_product(x, (1 << 29) - _product(half, x)) << 2)
    return np.asarray(np.minimum(x << 1, ONE))


def _product(a: Fixed, b: Fixed | int) -> Fixed:
    """The high half of twice the product, half up."""
    return np.asarray((a * b + (1 << 30)) >> 31)


def _halved(x: Fixed, times: int | NDArray[Any]) -> Fixed:
    """Divided by a power of two, half away from zero."""
    return np.asarray(np.sign(x) * ((np.abs(x) + (np.int64(1) << times >> 1)) >> times))
