"""A map of another size, each pixel a mean of the nearest four."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tilesim.arithmetic.interpolate import RULES


@dataclass(frozen=True)
class ResizeBilinear:
    """Input: map (1, H, W, C). Output (1, H', W', C) of ``size``, in the input's quantisation.

    With ``align`` the corners' pixels stay in the corners; with ``centred`` places count from the middle of a pixel.
    ``rule`` is one of :data:`tilesim.arithmetic.interpolate.RULES`.
    """

    size: tuple[int, int]
    align: bool
    centred: bool
    rule: str

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        return RULES[self.rule](inputs[0], self.size, align=self.align, centred=self.centred)
