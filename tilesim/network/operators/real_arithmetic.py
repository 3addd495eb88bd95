"""Sums, products and larger elements of reals, at the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.samples import each_sample

FUNCTIONS: Mapping[str, Callable[..., NDArray[Any]]] = {"add": np.add, "maximum": np.maximum, "multiply": np.multiply}


@dataclass(frozen=True)
class RealArithmetic:
    """Inputs: two float32 tensors of shapes that broadcast. Output: their sum, product, or larger elements, as
    ``function`` says, rounded to float32 once. ``firsts`` are the lengths of their first axes; 0 stands for a constant.
    """

    function: str
    firsts: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Any number of samples on the first axis."""
        with np.errstate(over="ignore", invalid="ignore"):
            return each_sample(inputs, self.firsts, FUNCTIONS[self.function])
