"""Products of matrices of integers, whose zero points may come while the network runs; sums stay sums."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import exact_matmul
from tilesim.network.graph import Tensor
from tilesim.network.operators.samples import each_sample

FARTHEST = 255
"""How far an integer of 8 bits may be from its zero point."""


@dataclass(frozen=True)
class IntegerMatmul:
    """Inputs: (..., M, K) and a constant (K, N), of 8 bits; the zero point of the first (1,), and those of the second,
    (1,) or (N,), both of the type of what they belong to. Output: int32 (..., M, N), the sums of
    ``(a - a_zero_point) * (b - b_zero_point)``. ``firsts`` are the lengths of their first axes, 0 of a constant.
    """

    firsts: tuple[int, int, int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Any number of samples on the first axis."""
        return each_sample(inputs, self.firsts, _sums)

    def macs(self, inputs: list[Tensor], output: Tensor) -> int:
        """Multiply-accumulates of one inference."""
        return prod(output.shape) * inputs[1].shape[0]


def _sums(a: NDArray[Any], b: NDArray[Any], a_zero: NDArray[Any], b_zero: NDArray[Any]) -> NDArray[Any]:
    left, right = a.astype(np.int32) - a_zero.astype(np.int32), b.astype(np.int32) - b_zero.astype(np.int32)
    return exact_matmul(left, right, FARTHEST, FARTHEST)
