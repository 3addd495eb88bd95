"""From reals to integers by a scale that suits the reals that come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.samples import each_sample

GIVES = ("integers", "scale", "zero_point")
HIGHEST = 255
"""The largest integer; the smallest is 0."""


@dataclass(frozen=True)
class DynamicQuantise:
    """Input: float32, the first axis of ``first`` elements. Output, as ``gives`` says: ``integers`` of uint8 and the
    input's shape; their ``scale``, float32 (1,); or their ``zero_point``, uint8 (1,).

    From 0 to 255 they reach from the lowest real to the highest, 0 included; all is rounded half to even, in float32.
    """

    gives: str
    first: int

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Each sample on the first axis has a scale of its own."""
        return each_sample(inputs, (self.first,), self._of_one)

    def _of_one(self, x: NDArray[Any]) -> NDArray[Any]:
        low, high = np.minimum(x.min(), np.float32(0)), np.maximum(x.max(), np.float32(0))
        scale = (high - low) / np.float32(HIGHEST) if high > low else np.float32(1)
        zero_point = np.rint(np.clip(np.float32(0) - low / scale, 0, HIGHEST))
        if self.gives == "scale":
            return np.array([scale], np.float32)
        if self.gives == "zero_point":
            return np.array([zero_point], np.uint8)
        return np.asarray(np.clip(np.rint(x / scale) + zero_point, 0, HIGHEST), np.uint8)
