"""The largest elements along the last axis, or their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.choose import top_k_indices, top_k_values


@dataclass(frozen=True)
class TopK:
    """Input: integers (..., n). Output: the ``k`` largest, the largest first, (..., k), of equal ones the first first;
    or, where ``places`` has a type (int32 or int64), where they are. A model's operator that gives both is two nodes.
    """

    k: int
    places: np.dtype[Any] | None = None

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        if self.places is None:
            return top_k_values(inputs[0], self.k)
        return top_k_indices(inputs[0], self.k).astype(self.places)
