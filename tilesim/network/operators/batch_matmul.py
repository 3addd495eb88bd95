"""Products of the matrices of two tensors."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import exact_matmul, magnitude
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.network.graph import Tensor
from tilesim.network.operators.samples import each_sample


@dataclass(frozen=True)
class BatchMatmul:
    """Inputs: tensors (..., M, K) and (..., K, N), whose axes before those broadcast. Output (..., M, N).

    Sums run over ``(a - a_zero_point) * (b - b_zero_point)``, in ``sums_type``; they are requantised by ``rule``,
    ``multiplier`` and ``shift``, ``output_zero_point`` is added, and the result clamped to ``clamp`` (inclusive). Of an
    operand that is ``turned`` the last two axes change places first. ``firsts`` are the lengths of their first axes; 0
    stands for a constant.
    """

    turned: tuple[bool, bool]
    zero_points: tuple[int, int, int]
    rule: str
    multiplier: int
    shift: int
    clamp: tuple[int, int]
    sums_type: np.dtype[Any]
    firsts: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the inputs' dtype; any number of samples on the first axis."""
        return each_sample(inputs, self.firsts, self._product)

    def _product(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        zero_a, zero_b, zero_y = self.zero_points
        left, right = (
            (np.swapaxes(x, -1, -2) if turned else x).astype(np.float64) - zero
            for x, turned, zero in ((a, self.turned[0], zero_a), (b, self.turned[1], zero_b))
        )
        sums = exact_matmul(left, right, magnitude(a.dtype, zero_a), magnitude(b.dtype, zero_b), self.sums_type)
        factors = np.array([self.multiplier], np.int32), np.array([self.shift], np.int32)
        return saturate(requantise(self.rule, sums, *factors), zero_y, self.clamp, a.dtype)

    def macs(self, inputs: list[Tensor], output: Tensor) -> int:
        """Multiply-accumulates of one inference."""
        return prod(output.shape) * inputs[0].shape[-2 if self.turned[0] else -1]
