"""Element-wise product of two tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.requantise import saturate


@dataclass(frozen=True)
class Multiply:
    """Inputs: two tensors of shapes that broadcast, of one dtype. ``rule`` and ``scaling`` as in
    :mod:`tilesim.arithmetic.multiply`; ``clamp`` is inclusive, in output integers.
    """

    rule: str
    scaling: tuple[int, ...]
    clamp: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the inputs' dtype."""
        a, b = inputs
        return saturate(multiply(self.rule, a, b, self.scaling), 0, self.clamp, a.dtype)
