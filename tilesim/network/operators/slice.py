"""A box of a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Slice:
    """Input: any shape. Output: ``size[k]`` elements from ``begin[k]`` on along axis k; all along the first."""

    begin: tuple[int, ...]
    size: tuple[int, ...]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        box = tuple(slice(start, start + count) for start, count in zip(self.begin[1:], self.size[1:], strict=True))
        return np.ascontiguousarray(x[(slice(None), *box)])
