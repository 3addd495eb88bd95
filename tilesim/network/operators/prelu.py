"""Leaky ReLU with a slope for each channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import requantise, saturate


@dataclass(frozen=True)
class Prelu:
    """Inputs: a tensor, and slopes whose shape broadcasts to its. Output of its dtype: ``x - input_zero_point``
    requantised by ``rule`` with ``above`` (multiplier and shift) where that is 0 or more; elsewhere its product with
    ``slope - slope_zero_point``, with ``below``; plus ``output_zero_point``, saturated.
    """

    input_zero_point: int
    slope_zero_point: int
    output_zero_point: int
    rule: str
    above: tuple[int, int]
    below: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        x, slopes = inputs
        centred = x.astype(np.int32) - np.int32(self.input_zero_point)
        products = centred * (slopes.astype(np.int32) - np.int32(self.slope_zero_point))
        steps = np.where(centred >= 0, self._scaled(centred, self.above), self._scaled(products, self.below))
        limits = np.iinfo(x.dtype)
        return saturate(steps, self.output_zero_point, (int(limits.min), int(limits.max)), x.dtype)

    def _scaled(self, values: NDArray[np.int32], factor: tuple[int, int]) -> NDArray[np.int32]:
        return requantise(self.rule, values, np.array(factor[:1], np.int32), np.array(factor[1:], np.int32))
