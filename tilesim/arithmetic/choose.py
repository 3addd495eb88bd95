"""The largest of the elements along the last axis: which they are, and where. Of equal ones the first comes first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def argmax(x: NDArray[Any]) -> NDArray[np.int32]:
    """Integers (..., n) as the place of the largest, (..., 1)."""
    return np.asarray(np.argmax(x, axis=-1, keepdims=True), np.int32)


def top_k_indices(x: NDArray[Any], k: int) -> NDArray[np.int32]:
    """Integers (..., n) as the places of the ``k`` largest, the largest first, (..., k)."""
    falling = np.argsort(-x.astype(np.int64), axis=-1, kind="stable")
    return np.ascontiguousarray(falling[..., :k]).astype(np.int32)


def top_k_values(x: NDArray[Any], k: int) -> NDArray[Any]:
    """Integers (..., n) as the ``k`` largest of them, the largest first, (..., k)."""
    return np.take_along_axis(x, top_k_indices(x, k).astype(np.intp), axis=-1)
