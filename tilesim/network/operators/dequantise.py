"""From integers to reals, at the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Dequantise:
    """Input: integers of any shape. Output: ``scale * (x - zero_point)`` in float32."""

    scale: float
    zero_point: int

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[np.float32]:
        centred = inputs[0].astype(np.int32) - np.int32(self.zero_point)
        return centred.astype(np.float32) * np.float32(self.scale)
