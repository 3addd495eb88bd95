"""What a classifier makes of a vector, and the five numbers that say how: two for scales, then the output's zero point,
its smallest and its largest value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import float_bits, wide_bits, wide_factor
from tilesim.arithmetic.softmax import softmax, softmax_aligned
from tilesim.arithmetic.softmax_fixed import softmax_fixed

Function: TypeAlias = Callable[[NDArray[Any], float, float, int, tuple[int, int]], NDArray[Any]]

RULES: Mapping[str, Function] = {"plain": softmax, "aligned": softmax_aligned, "fixed": softmax_fixed}
"""Softmax by each rule of a network's operator."""
FUNCTIONS: Mapping[str, Function] = {
    "softmax": softmax,
    "softmax_aligned": softmax_aligned,
    "softmax_fixed": softmax_fixed,
}
SOFTMAX_FUNCTIONS = {"plain": "softmax", "aligned": "softmax_aligned", "fixed": "softmax_fixed"}
"""The function of each rule of a softmax."""
SCALING_NUMBERS = 5
"""Of a function's scaling."""
WIDE = ("softmax_fixed",)
"""Of these the first two numbers are the halves of the input's scale in float64; of the others they are the input's and
the output's scale in float32.
"""


def classified(function: str, x: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[Any]:
    """Integers (..., n) as what a function makes of their last axis, of their dtype.

    Raises:
        KeyError: for another function than those of :data:`FUNCTIONS`.
    """
    numbers, (zero_point, low, high) = np.array(scaling[:2], np.int32), scaling[2:]
    wide = function in WIDE
    scales = (wide_factor(numbers[:1], numbers[1:])[0], 0.0) if wide else numbers.view(np.float32)
    return FUNCTIONS[function](x, float(scales[0]), float(scales[1]), zero_point, (low, high))


def classify_scaling(
    function: str, scales: tuple[float, float], zero_point: int, clamp: tuple[int, int]
) -> tuple[int, ...]:
    """The numbers for scales of (input, output)."""
    halves = np.concatenate(wide_bits(np.array(scales[:1]))) if function in WIDE else float_bits(np.array(scales))
    return (*halves.tolist(), zero_point, *clamp)
