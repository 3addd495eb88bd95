"""What a classifier makes of a vector, and the numbers that say how: of a softmax five, two for scales, then the
output's zero point, its smallest and its largest value; of the ``k`` largest elements that ``k``; of the largest none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.arithmetic.choose import argmax, top_k_indices, top_k_values
from tilesim.arithmetic.requantise import float_bits, wide_bits, wide_factor
from tilesim.arithmetic.softmax import softmax, softmax_aligned
from tilesim.arithmetic.softmax_fixed import softmax_fixed

SoftmaxRule: TypeAlias = Callable[[NDArray[Any], float, float, int, tuple[int, int]], NDArray[Any]]

RULES: Mapping[str, SoftmaxRule] = {"plain": softmax, "aligned": softmax_aligned, "fixed": softmax_fixed}
"""Softmax by each rule of a network's operator."""
SOFTMAXES: Mapping[str, SoftmaxRule] = {
    "softmax": softmax,
    "softmax_aligned": softmax_aligned,
    "softmax_fixed": softmax_fixed,
}
SOFTMAX_FUNCTIONS = {"plain": "softmax", "aligned": "softmax_aligned", "fixed": "softmax_fixed"}
"""The function of each rule of a softmax."""
WIDE = ("softmax_fixed",)
"""Of these the first two numbers are the halves of the input's scale in float64; of others the input's and the output's
scale in float32.
"""


class Function(Struct, frozen=True):
    """``compute`` takes integers (..., n) and a scaling of so many ``numbers``.

    It makes as many elements as it gets, or ``makes`` of them; it makes as many as its scaling says where ``chooses``.
    They are of the input's type, or ``places`` in int32.
    """

    compute: Callable[[NDArray[Any], tuple[int, ...]], NDArray[Any]]
    numbers: int
    makes: int = 0
    chooses: bool = False
    places: bool = False


def _softmax(rule: SoftmaxRule, x: NDArray[Any], scaling: tuple[int, ...], *, wide: bool) -> NDArray[Any]:
    numbers, (zero_point, low, high) = np.array(scaling[:2], np.int32), scaling[2:]
    scales = (wide_factor(numbers[:1], numbers[1:])[0], 0.0) if wide else numbers.view(np.float32)
    return rule(x, float(scales[0]), float(scales[1]), zero_point, (low, high))


FUNCTIONS: Mapping[str, Function] = {
    **{name: Function(partial(_softmax, rule, wide=name in WIDE), 5) for name, rule in SOFTMAXES.items()},
    "argmax": Function(lambda x, _: argmax(x), 0, makes=1, places=True),
    "top_k_values": Function(lambda x, scaling: top_k_values(x, scaling[0]), 1, chooses=True),
    "top_k_indices": Function(lambda x, scaling: top_k_indices(x, scaling[0]), 1, chooses=True, places=True),
}


def classified(function: str, x: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[Any]:
    """What a function makes of the last axis of integers (..., n).

    Raises:
        KeyError: for another function than those of :data:`FUNCTIONS`.
    """
    return FUNCTIONS[function].compute(x, scaling)


def elements_made(function: str, elements: int, scaling: tuple[int, ...]) -> int:
    """How many elements a function makes of so many."""
    what = FUNCTIONS[function]
    return scaling[0] if what.chooses else what.makes or elements


def type_made(function: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What they are, of integers of ``dtype``."""
    return np.dtype("<i4") if FUNCTIONS[function].places else dtype


def bytes_made(function: str, elements: int, scaling: tuple[int, ...]) -> int:
    """How many bytes a function makes of so many."""
    return elements_made(function, elements, scaling) * type_made(function, np.dtype(np.uint8)).itemsize


def passes(function: str, scaling: tuple[int, ...]) -> int:
    """How often a function looks at each element: where it chooses ``k``, it looks for one of them at a time."""
    return scaling[0] if FUNCTIONS[function].chooses else 1


def classify_scaling(
    function: str, scales: tuple[float, float], zero_point: int, clamp: tuple[int, int]
) -> tuple[int, ...]:
    """The numbers of a softmax for scales of (input, output)."""
    halves = np.concatenate(wide_bits(np.array(scales[:1]))) if function in WIDE else float_bits(np.array(scales))
    return (*halves.tolist(), zero_point, *clamp)
