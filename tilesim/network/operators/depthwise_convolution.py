"""Depthwise convolution: every channel with its own windows."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.network.graph import Tensor
from tilesim.network.operators.windows import Padding, pad, taps, windows


@dataclass(frozen=True)
class DepthwiseConvolution:
    """Inputs: map (1, H, W, C); weights (kH, kW, C m); bias (C m,) int32 or int64. Output (1, H', W', C m).

    Channel ``c`` of the input makes outputs ``c m`` to ``c m + m - 1``. The fields are those of
    :class:`~tilesim.network.operators.convolution.Convolution`.
    """

    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]
    input_zero_point: int
    weight_zero_point: int
    output_zero_point: int
    rule: str
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int32]
    clamp: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the inputs' dtype; any number of samples on the first axis."""
        x, weights, bias = inputs
        centred = pad(x, self.padding, self.input_zero_point).astype(np.int32) - np.int32(self.input_zero_point)
        factors = weights.astype(np.int32) - np.int32(self.weight_zero_point)
        if (copies := weights.shape[-1] // x.shape[-1]) > 1:
            centred = np.repeat(centred, copies, axis=-1)
        view = windows(centred, (weights.shape[0], weights.shape[1]), self.strides, self.dilations)
        sums = np.empty((*view.shape[:3], weights.shape[-1]), bias.dtype)
        sums[...] = bias
        for ky, kx, tap in taps(view):
            sums += tap * factors[ky, kx]
        scaled = requantise(self.rule, sums, self.multiplier, self.shift)
        return saturate(scaled, self.output_zero_point, self.clamp, x.dtype)

    def macs(self, inputs: list[Tensor], output: Tensor) -> int:
        """Multiply-accumulates of one inference, padding included."""
        return prod(output.shape) * prod(inputs[1].shape[:2])
