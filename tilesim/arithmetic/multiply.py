"""Element-wise product of two quantised tensors.

Everything that a layer needs, zero points included, is a short tuple of int32 values, so that an instruction can carry
it. ``double`` scales as :mod:`tilesim.arithmetic.requantise` does; ``float`` multiplies, and adds the output's zero
point, in float32 before it rounds half to even; ``real`` is a product of reals, see :mod:`tilesim.arithmetic.reals`.

Source: TensorFlow Lite reference kernel MUL (``double``); ONNX Runtime QLinearMul, as measured on x86 (``float``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.reals import LARGEST, combined, rounded
from tilesim.arithmetic.requantise import requantise

ProductScaling: TypeAlias = tuple[int, int, int, int, int]
"""Zero points of a, of b and of the output; multiplier (bits of a float32 for ``float``) and shift."""


def multiply(
    rule: str, a: NDArray[Any], b: NDArray[Any], scaling: ProductScaling | tuple[int, ...]
) -> NDArray[np.int32]:
    """Product of raw integers ``a`` and ``b`` (shapes that broadcast) as int32 output integers: zero point in, clamp
    not.

    Raises:
        KeyError: for a rule other than ``double``, ``float`` and ``real``.
    """
    return _RULES[rule](a, b, scaling)


def _products(a: NDArray[Any], b: NDArray[Any], zero_a: int, zero_b: int) -> NDArray[np.int32]:
    return (a.astype(np.int32) - np.int32(zero_a)) * (b.astype(np.int32) - np.int32(zero_b))


def _double(a: NDArray[Any], b: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[np.int32]:
    zero_point, multiplier, shift = scaling[2:]
    products = _products(a, b, *scaling[:2])
    scaled = requantise("double", products, np.array([multiplier], np.int32), np.array([shift], np.int32))
    return np.clip(scaled, -LARGEST, LARGEST) + np.int32(zero_point)


def _float(a: NDArray[Any], b: NDArray[Any], scaling: tuple[int, ...]) -> NDArray[np.int32]:
    factor = np.array(scaling[3], np.int32).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # bits that a program may hold
        return rounded(_products(a, b, *scaling[:2]).astype(np.float32) * factor + np.float32(scaling[2]))


_RULES: Mapping[str, Callable[..., NDArray[np.int32]]] = {
    "double": _double,
    "float": _float,
    "real": partial(combined, np.multiply),
}
