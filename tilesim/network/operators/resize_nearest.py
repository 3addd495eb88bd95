"""A map of another size, each pixel a copy of the nearest one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ResizeNearest:
    """Input: map (1, H, W, C). Output (1, H', W', C): its row k is a copy of row ``rows[k]``, columns likewise."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        return np.ascontiguousarray(x[:, self.rows][:, :, self.columns])
