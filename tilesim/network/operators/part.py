"""Some of what a tensor has along its first axis, which is that of the samples elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.samples import each_sample


@dataclass(frozen=True)
class Part:
    """Input: any shape, the first axis of ``first`` elements. Output: of these ``count``, ``begin``, ``begin + step``
    and so on.
    """

    first: int
    begin: int
    step: int
    count: int

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        places = self.begin + self.step * np.arange(self.count)
        return each_sample(inputs, (self.first,), lambda x: x[places])
