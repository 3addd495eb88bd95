"""Tensors one after the other along the first axis, which is that of the samples elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.samples import each_sample


@dataclass(frozen=True)
class Stack:
    """Inputs: tensors of one quantisation whose shapes agree but along the first axis, of which each has so many
    elements as ``firsts`` says; 0 stands for a constant. Output: all of them.
    """

    firsts: tuple[int, ...]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the inputs' dtype; any number of samples on the first axis."""
        return each_sample(inputs, self.firsts, lambda *parts: np.concatenate(parts))
