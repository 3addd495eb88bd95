"""Local response normalisation: every element by the squares of its neighbours in other channels.

With x the real that an element stands for, its result is

    x / (bias + alpha / size * squares) ** beta

where ``squares`` adds up the x**2 of ``size`` channels: (size - 1) // 2 before the element's own, its own, and those
after; channels that there are not count 0. Reals are float32: each x, each square and, lowest channel first, each
partial sum is rounded; so are alpha / size, its product with the sum, and the base; the power is that of float64,
rounded; so are the quotient and what the output's scale leaves of it, which becomes the nearest integer, half to even,
before the output's zero point is added.

Source: ONNX operator specification, LRN, for the formula and the neighbours; the rounding is an assumption.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.reals import reals_of, rounded
from tilesim.arithmetic.requantise import float_bits

NormaliseScaling: TypeAlias = tuple[int, int, int, int, int, int, int]
"""The input's zero point and float32 bits of its scale; bits of alpha, beta and bias; bits of the output's scale, and
its zero point.
"""


def normalise_scaling(
    scales: tuple[float, float], zero_points: tuple[int, int], alpha: float, beta: float, bias: float
) -> NormaliseScaling:
    """What :func:`normalise` takes, from the scales and zero points of (input, output) and the layer's constants."""
    bits = [int(pattern) for pattern in float_bits(np.array([scales[0], alpha, beta, bias, scales[1]]))]
    return (zero_points[0], bits[0], bits[1], bits[2], bits[3], bits[4], zero_points[1])


def normalise(x: NDArray[Any], size: int, scaling: NormaliseScaling | tuple[int, ...]) -> NDArray[np.int32]:
    """Raw integers (..., channels) normalised over ``size`` neighbouring channels, the own one included, as int32
    output integers: zero point in, clamp not. ``scaling`` is of :func:`normalise_scaling`.
    """
    scale_out = np.array(scaling[5], np.int32).view(np.float32)
    with np.errstate(all="ignore"):  # bits that a program may hold; what leaves float32 saturates
        return rounded(normalised_reals(x, size, scaling) / scale_out) + np.int32(scaling[6])


def normalised_reals(x: NDArray[Any], size: int, scaling: NormaliseScaling | tuple[int, ...]) -> NDArray[np.float32]:
    """The reals that :func:`normalise` rounds; the output's scale and zero point take no part."""
    zero_point, *bits = scaling[:5]
    scale, alpha, beta, bias = np.array(bits, np.int32).view(np.float32)
    with np.errstate(all="ignore"):
        reals = reals_of(x, zero_point, scale)
        base = alpha / np.float32(size) * _neighbours(reals * reals, size) + bias
        power = np.power(base.astype(np.float64), np.float64(beta)).astype(np.float32)
        return np.asarray(reals / power)


def _neighbours(squares: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Of each channel, the sum over itself and its neighbours."""
    channels, before = squares.shape[-1], (size - 1) // 2
    total = np.zeros_like(squares)
    for offset in range(max(-before, 1 - channels), min(size - before, channels)):
        low, high = max(0, -offset), min(channels, channels - offset)
        total[..., low:high] += squares[..., low + offset : high + offset]
    return total
