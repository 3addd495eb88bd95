"""Channels as pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DepthToSpace:
    """Input: map (1, H, W, b b C). Output (1, b H, b W, C): each pixel becomes a square of ``block`` b by b, of which
    it has the pixels one after the other, by row; or, with ``channels_first``, each channel's square.
    """

    block: int
    channels_first: bool = False

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        n, height, width, channels = x.shape
        b, made = self.block, channels // self.block**2
        parts = x.reshape(n, height, width, *((made, b, b) if self.channels_first else (b, b, made)))
        order = (0, 1, 4, 2, 5, 3) if self.channels_first else (0, 1, 3, 2, 4, 5)
        return np.ascontiguousarray(parts.transpose(order)).reshape(n, height * b, width * b, made)
