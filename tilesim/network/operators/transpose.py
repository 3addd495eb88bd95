"""The axes of a tensor in another order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.samples import each_sample


@dataclass(frozen=True)
class Transpose:
    """Input: any shape, the first axis of ``first`` elements. Output: its axis k is the input's axis ``axes[k]``."""

    axes: tuple[int, ...]
    first: int

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        return each_sample(inputs, (self.first,), lambda x: np.transpose(x, self.axes))
