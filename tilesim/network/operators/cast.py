"""Integers of another type, or as reals; their scales do not count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Cast:
    """Input: integers of any shape. Output: the same numbers in ``dtype``; of those that it has not, the low bits."""

    dtype: np.dtype[Any]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        return inputs[0].astype(self.dtype)
