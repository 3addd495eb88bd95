"""Integer matrix products through floating-point BLAS, exact by keeping each partial sum inside the mantissa."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT32_EXACT = 1 << 24
FLOAT64_EXACT = 1 << 53


@cache
def magnitude(dtype: np.dtype[Any], zero_point: int = 0) -> int:
    """Largest ``abs(q - zero_point)`` that an integer ``dtype`` allows, e.g. 128 for raw int8, 255 for raw uint8."""
    limits = np.iinfo(dtype)
    return max(int(limits.max) - zero_point, zero_point - int(limits.min))


def exact_products(x_bound: int, w_bound: int, mantissa: int = FLOAT32_EXACT) -> int:
    """How many products a floating partial sum holds exactly: 1024 for raw int8 by int8 in float32."""
    return mantissa // max(1, x_bound * w_bound)


def exact_matmul(
    x: NDArray[Any], w: NDArray[Any], x_bound: int, w_bound: int, sums_type: Any = np.int32
) -> NDArray[Any]:
    """``x @ w`` of integers, added up in int32 with wrap-around, or in int64.

    Args:
        x: integers (..., M, K), of an integer dtype, or whole numbers held in a floating dtype.
        w: likewise, (K, N) or (..., K, N).
        x_bound: largest magnitude in ``x``.
        w_bound: likewise for ``w``.
        sums_type: int32 or int64.

    Returns:
        ``sums_type`` of shape (..., M, N), equal to the product of exact integers, of int32 modulo 2**32.
    """
    chunk = exact_products(x_bound, w_bound)
    dtype: type[np.float32] | type[np.float64] = np.float32
    if chunk < 64:  # wide operands: float64 needs fewer passes
        dtype, chunk = np.float64, exact_products(x_bound, w_bound, FLOAT64_EXACT)
    x, w = x.astype(dtype, copy=False), w.astype(dtype, copy=False)
    sums = _wrapped(x[..., :chunk] @ w[..., :chunk, :], sums_type)
    for start in range(chunk, x.shape[-1], chunk):
        sums += _wrapped(x[..., start : start + chunk] @ w[..., start : start + chunk, :], sums_type)
    return sums


def _wrapped(products: NDArray[Any], sums_type: Any) -> NDArray[Any]:
    if products.dtype == np.float64:  # may exceed int32; int64 to int32 wraps as hardware does
        return products.astype(np.int64).astype(sums_type, copy=False)
    return products.astype(sums_type)
