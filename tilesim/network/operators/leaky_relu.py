"""Leaky ReLU of numbers that are too wide for a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import saturate
from tilesim.arithmetic.table import leaky_steps


@dataclass(frozen=True)
class LeakyRelu:
    """Input: any shape. Output of its dtype: ``x - input_zero_point`` requantised by ``rule``, with ``above``
    (multiplier and shift) where that is 0 or more and with ``below`` elsewhere; plus ``output_zero_point``, saturated.
    Multipliers below 0 give the opposite of what their magnitudes give.
    """

    input_zero_point: int
    output_zero_point: int
    rule: str
    above: tuple[int, int]
    below: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        (x,) = inputs
        centred = x.astype(np.int32) - np.int32(self.input_zero_point)
        limits = np.iinfo(x.dtype)
        steps = leaky_steps(self.rule, centred, self.above, self.below)
        return saturate(steps, self.output_zero_point, (int(limits.min), int(limits.max)), x.dtype)
