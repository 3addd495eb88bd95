"""Fully connected layer."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import exact_matmul, magnitude
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.network.graph import Tensor


@dataclass(frozen=True)
class FullyConnected:
    """Inputs: vector (1, K); weights (O, K); bias (O,) int32 or int64. Output (1, O).

    The fields are those of :class:`~tilesim.network.operators.convolution.Convolution`.
    """

    input_zero_point: int
    weight_zero_point: int
    output_zero_point: int
    rule: str
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int32]
    clamp: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the inputs' dtype; any number of samples on the first axis, the others taken together."""
        x, weights, bias = inputs
        rows = x.reshape(-1, weights.shape[1]).astype(np.float32) - np.float32(self.input_zero_point)
        w = weights.astype(np.float32)
        w -= np.float32(self.weight_zero_point)
        bounds = magnitude(x.dtype, self.input_zero_point), magnitude(weights.dtype, self.weight_zero_point)
        sums = exact_matmul(rows, w.T, *bounds, bias.dtype)
        sums += bias
        scaled = requantise(self.rule, sums, self.multiplier, self.shift)
        return saturate(scaled, self.output_zero_point, self.clamp, x.dtype)

    def macs(self, inputs: list[Tensor], output: Tensor) -> int:
        """Multiply-accumulates of one inference."""
        return prod(output.shape) * inputs[1].shape[1]
