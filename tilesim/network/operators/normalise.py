"""Local response normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tilesim.arithmetic.normalise import normalise
from tilesim.arithmetic.requantise import saturate


@dataclass(frozen=True)
class Normalise:
    """Input: (..., C). Output of its shape and dtype: each element by the squares of ``size`` neighbouring channels.

    ``scaling`` as in :mod:`tilesim.arithmetic.normalise`; ``clamp`` is inclusive, in output integers.
    """

    size: int
    scaling: tuple[int, ...]
    clamp: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        return saturate(normalise(x, self.size, self.scaling), 0, self.clamp, x.dtype)
