"""Largest element of each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.windows import Padding, pad, taps, windows


@dataclass(frozen=True)
class MaxPool:
    """Input: map (1, H, W, C). Output (1, H', W', C), of the same quantisation; padding never wins."""

    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding
    clamp: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        lowest = int(np.iinfo(x.dtype).min)
        view = windows(pad(x, self.padding, lowest), self.window, self.strides)
        largest = np.full((*view.shape[:3], x.shape[-1]), lowest, x.dtype)
        for _, _, tap in taps(view):
            np.maximum(largest, tap, out=largest)
        return np.clip(largest, *self.clamp)
