"""Element-wise product of two quantised tensors.

Everything that a layer needs, zero points included, is a short tuple of int32 values, so that an instruction can carry
it. ``double`` scales as :mod:`tilesim.arithmetic.requantise` does; ``float`` multiplies, and adds the output's zero
point, in float32 before it rounds half to even.

Source: TensorFlow Lite reference kernel MUL (``double``); ONNX Runtime QLinearMul, as measured on x86 (``float``).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import requantise

ProductScaling: TypeAlias = tuple[int, int, int, int, int]
"""Zero points of a, of b and of the output; multiplier (bits of a float32 for ``float``) and shift."""

LARGEST = 1 << 24
"""Beyond any integer that a clamp leaves, and exact in float32."""


def multiply(
    rule: str, a: NDArray[Any], b: NDArray[Any], scaling: ProductScaling | tuple[int, ...]
) -> NDArray[np.int32]:
    """Product of raw integers ``a`` and ``b`` (shapes that broadcast) as int32 output integers: zero point in, clamp
    not.

    Raises:
        KeyError: for a rule other than ``double`` and ``float``.
    """
    zero_a, zero_b, zero_y, multiplier, shift = scaling
    products = (a.astype(np.int32) - np.int32(zero_a)) * (b.astype(np.int32) - np.int32(zero_b))
    return _RULES[rule](products, zero_y, np.array([multiplier], np.int32), np.array([shift], np.int32))


def _double(
    products: NDArray[np.int32], zero_point: int, multiplier: NDArray[np.int32], shift: NDArray[np.int32]
) -> NDArray[np.int32]:
    scaled = requantise("double", products, multiplier, shift)
    return np.clip(scaled, -LARGEST, LARGEST) + np.int32(zero_point)


def _float(
    products: NDArray[np.int32], zero_point: int, multiplier: NDArray[np.int32], _shift: NDArray[np.int32]
) -> NDArray[np.int32]:
    with np.errstate(over="ignore", invalid="ignore"):  # bits that a program may hold
        steps = products.astype(np.float32) * multiplier.view(np.float32) + np.float32(zero_point)
    return np.asarray(np.clip(np.rint(np.nan_to_num(steps)), -LARGEST, LARGEST), np.int32)


_RULES = {"double": _double, "float": _float}
