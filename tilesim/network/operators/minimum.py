"""The smaller of two tensors, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Minimum:
    """Inputs: two tensors of shapes that broadcast, of one dtype and quantisation."""

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the inputs' dtype."""
        a, b = inputs
        return np.asarray(np.minimum(a, b))
