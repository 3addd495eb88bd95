"""From one quantisation to another, element by element; with a tighter clamp, a stand-alone activation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import requantise, saturate


@dataclass(frozen=True)
class Rescale:
    """Input: integers of any shape. Output of ``dtype``: ``x - input_zero_point`` requantised by ``rule``,
    ``multiplier`` and ``shift``, plus ``output_zero_point``, clamped to ``clamp`` (inclusive, in output integers).
    """

    input_zero_point: int
    output_zero_point: int
    rule: str
    multiplier: int
    shift: int
    clamp: tuple[int, int]
    dtype: np.dtype[Any]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        centred = inputs[0].astype(np.int32) - np.int32(self.input_zero_point)
        factors = np.array([self.multiplier], np.int32), np.array([self.shift], np.int32)
        return saturate(requantise(self.rule, centred, *factors), self.output_zero_point, self.clamp, self.dtype)
