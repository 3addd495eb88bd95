"""Mean over all rows and columns of a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import requantise, saturate


@dataclass(frozen=True)
class Mean:
    """Input: map (1, H, W, C). Output of ``shape``, (1, 1, 1, C) or (1, C).

    The int32 sums of ``x - input_zero_point`` are requantised by ``rule``, ``multiplier`` and ``shift``, which hold the
    division by the number of elements as well; ``output_zero_point`` is added and the result clamped to ``clamp``.
    """

    shape: tuple[int, ...]
    input_zero_point: int
    output_zero_point: int
    rule: str
    multiplier: int
    shift: int
    clamp: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        sums = x.sum(axis=(1, 2), dtype=np.int32) - np.int32(self.input_zero_point * x.shape[1] * x.shape[2])
        factors = np.array([self.multiplier], np.int32), np.array([self.shift], np.int32)
        means = saturate(requantise(self.rule, sums, *factors), self.output_zero_point, self.clamp, x.dtype)
        return means.reshape(-1, *self.shape[1:])
