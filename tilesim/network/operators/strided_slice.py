"""Every so many elements of a tensor, backwards too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StridedSlice:
    """Input: any shape. Output: along axis k the ``size[k]`` elements ``begin[k]``, ``begin[k] + strides[k]`` and so
    on, all along the first; then under ``shape``.
    """

    begin: tuple[int, ...]
    strides: tuple[int, ...]
    size: tuple[int, ...]
    shape: tuple[int, ...]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        for axis in range(1, x.ndim):
            places = self.begin[axis] + self.strides[axis] * np.arange(self.size[axis])
            x = np.take(x, places, axis=axis)
        return x.reshape((-1, *self.shape[1:]))
