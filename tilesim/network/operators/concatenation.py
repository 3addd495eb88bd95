"""Tensors one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Concatenation:
    """Inputs: tensors of one quantisation whose shapes agree but along ``axis``, not the first. Output: all of them."""

    axis: int

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the inputs' dtype; any number of samples on the first axis."""
        return np.concatenate(inputs, axis=self.axis)
