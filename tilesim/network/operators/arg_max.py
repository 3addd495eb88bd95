"""The place of the largest element along the last axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.choose import argmax


@dataclass(frozen=True)
class ArgMax:
    """Input: integers (..., n). Output: (...), or (..., 1) where it ``keeps`` the axis, of int32 or int64 as ``dtype``
    says. Of equal elements it is the first.
    """

    dtype: np.dtype[Any]
    keeps: bool = False

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        places = argmax(inputs[0]).astype(self.dtype)
        return places if self.keeps else places[..., 0]
