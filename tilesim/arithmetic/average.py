"""The average of the reals that integers stand for, added up in float32.

Reals are added in the order in which they come, and the output's zero point before the result is rounded half to even:
where the exact average lies half-way between two integers, both decide which of them it becomes.

Source: ONNX Runtime QLinearAveragePool on x86, as measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.reals import reals_of, rounded
from tilesim.arithmetic.requantise import float_bits

AverageScaling: TypeAlias = tuple[int, int, int, int, int]
"""The input's zero point and float32 bits of its scale; how many elements; the same two of the output."""


def average_scaling(scales: tuple[float, float], zero_points: tuple[int, int], count: int) -> AverageScaling:
    """What :func:`average` takes, from the scales and zero points of (input, output)."""
    bits = float_bits(np.array(scales))
    return (zero_points[0], int(bits[0]), count, int(bits[1]), zero_points[1])


def average(taps: Iterable[NDArray[Any]], scaling: AverageScaling | tuple[int, ...]) -> NDArray[np.int32]:
    """Averages of raw integers as int32 output integers: zero point in, clamp not.

    Args:
        taps: at least one array of integers; all of one shape, which is the result's. Element k of each is averaged
            with element k of the others.
        scaling: of :func:`average_scaling`. Its count need not be that of the taps: what is missing counts as 0.
    """
    zero_in, scale_in, count, scale_out, zero_out = scaling
    factor, divisor = np.array([scale_in, scale_out], np.int32).view(np.float32)
    reals = (reals_of(tap, zero_in, factor) for tap in taps)
    total = next(reals)
    for real in reals:
        total += real
    with np.errstate(over="ignore"):  # what leaves float32 saturates
        return rounded(total / np.float32(count) / divisor + np.float32(zero_out))
