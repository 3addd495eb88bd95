"""Element-wise addition of two tensors of different scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tilesim.arithmetic.add import add
from tilesim.arithmetic.requantise import saturate


@dataclass(frozen=True)
class Add:
    """Inputs: two tensors of shapes that broadcast, of one dtype. ``rule`` and ``scaling`` as in
    :mod:`tilesim.arithmetic.add`; ``clamp`` is inclusive, in output integers.
    """

    rule: str
    scaling: tuple[int, ...]
    clamp: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the inputs' dtype."""
        a, b = inputs
        return saturate(add(self.rule, a, b, self.scaling), 0, self.clamp, a.dtype)
