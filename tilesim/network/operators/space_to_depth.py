"""Pixels as channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SpaceToDepth:
    """Input: map (1, b H, b W, C). Output (1, H, W, b b C): the pixels of each square of ``block`` b by b one after the
    other, by row.
    """

    block: int

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        n, height, width, channels = x.shape
        b = self.block
        parts = x.reshape(n, height // b, b, width // b, b, channels).transpose(0, 1, 3, 2, 4, 5)
        return np.ascontiguousarray(parts).reshape(n, height // b, width // b, b * b * channels)
