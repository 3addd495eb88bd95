"""Two tensors combined as the reals that their integers stand for, in float32: nothing is folded into anything else.

Each step is rounded: the scale times what an integer is above its zero point, the sum or the product, its quotient by
the output's scale. The nearest integer, half to even, comes before the output's zero point.

Source: ONNX operator specification, DequantizeLinear and QuantizeLinear, around an operator on float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import float_bits

RealScaling: TypeAlias = tuple[int, int, int, int, int, int]
"""Zero point and float32 bits of the scale: of a, of b and of the output."""

Reals: TypeAlias = NDArray[np.float32]

LARGEST = 1 << 24
"""Beyond any integer that a clamp leaves, and exact in float32."""


def real_scaling(scales: tuple[float, float, float], zero_points: tuple[int, int, int]) -> RealScaling:
    """What :func:`combined` takes, from the scales and zero points of (a, b, output)."""
    a, b, y = (int(bits) for bits in float_bits(np.array(scales)))
    return (zero_points[0], a, zero_points[1], b, zero_points[2], y)


def combined(
    function: Callable[[Reals, Reals], Reals], a: NDArray[Any], b: NDArray[Any], scaling: tuple[int, ...]
) -> NDArray[np.int32]:
    """``function`` of raw integers ``a`` and ``b`` (shapes that broadcast) as int32 output integers: zero point in,
    clamp not. ``scaling`` is of :func:`real_scaling`.
    """
    scale_a, scale_b, scale_y = np.array(scaling[1::2], np.int32).view(np.float32)
    with np.errstate(all="ignore"):  # bits that a program may hold
        reals = function(reals_of(a, scaling[0], scale_a), reals_of(b, scaling[2], scale_b))
        return rounded(reals / scale_y) + np.int32(scaling[4])


def reals_of(x: NDArray[Any], zero_point: int, scale: np.float32) -> Reals:
    """What raw integers stand for."""
    return (x.astype(np.int32) - np.int32(zero_point)).astype(np.float32) * scale


def rounded(steps: Reals) -> NDArray[np.int32]:
    """The nearest integers, half to even; what leaves float32 saturates, and what is no number is 0."""
    return np.asarray(np.clip(np.rint(np.nan_to_num(steps)), -LARGEST, LARGEST), np.int32)
