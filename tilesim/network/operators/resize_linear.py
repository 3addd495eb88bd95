"""A map of another size, each pixel a mean of four, whose weights are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.interpolate import weighted

Place: TypeAlias = tuple[int, int, float, float]
"""Two positions of the input, and the weight of each, a float32."""
Affine: TypeAlias = tuple[float, int]
"""A scale, a float32, and a zero point."""


@dataclass(frozen=True)
class ResizeLinear:
    """Input: map (1, H, W, C). Output (1, H', W', C) of its dtype: a mean of pixels in two rows and two columns.

    ``rows`` and ``columns`` say which they are for each row and column of the output. Means are added up in float32: of
    the integers themselves, cut off after the point; or, with ``reals`` (of input and output), of the reals that they
    stand for, rounded half to even in steps of the output's scale. ``clamp`` is inclusive, in output integers.
    """

    rows: tuple[Place, ...]
    columns: tuple[Place, ...]
    clamp: tuple[int, int]
    reals: tuple[Affine, Affine] | None = None

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Any number of samples on the first axis."""
        (x,) = inputs
        if self.reals is None:
            return self._clamped(np.trunc(weighted(x.astype(np.float32), self.rows, self.columns)), x)
        (scale, zero), (scale_y, zero_y) = self.reals
        reals = (x.astype(np.int32) - np.int32(zero)).astype(np.float32) * np.float32(scale)
        with np.errstate(over="ignore"):
            steps = np.rint(weighted(reals, self.rows, self.columns) / np.float32(scale_y)).astype(np.float64)
        return self._clamped(steps + zero_y, x)

    def _clamped(self, values: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.clip(values, *self.clamp), like.dtype)
