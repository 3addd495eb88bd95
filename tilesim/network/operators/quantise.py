"""From reals to integers, at the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Quantise:
    """Input: float32 of any shape. Output: ``round(x / scale) + zero_point`` of ``dtype``, saturated.

    ``rounding`` is ``even`` (half to even, ONNX) or ``away`` (half away from zero, TensorFlow Lite). The quotient is a
    float32. Not-a-number becomes ``zero_point``.
    """

    scale: float
    zero_point: int
    dtype: np.dtype[Any]
    rounding: str

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        with np.errstate(over="ignore"):  # what leaves float32 saturates
            quotient = np.nan_to_num(inputs[0].astype(np.float32) / np.float32(self.scale), nan=0.0)
        if self.rounding == "even":
            rounded = np.rint(quotient)
        else:
            wide = quotient.astype(np.float64)  # where adding a half is exact
            rounded = np.trunc(wide + np.copysign(0.5, wide))
        limits = np.iinfo(self.dtype)
        return np.asarray(np.clip(rounded + self.zero_point, limits.min, limits.max), self.dtype)
