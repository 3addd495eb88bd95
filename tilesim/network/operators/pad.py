"""A border around a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pad:
    """Input: any shape. Output: ``before[k]`` and ``after[k]`` elements of ``value`` more along axis k; none along the
    first.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    value: int

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        return np.pad(x, tuple(zip(self.before, self.after, strict=True)), constant_values=self.value)
