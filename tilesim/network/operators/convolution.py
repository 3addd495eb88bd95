"""Two-dimensional convolution, dense or grouped."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import exact_matmul, magnitude
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.network.graph import Tensor
from tilesim.network.operators.windows import Padding, pad, windows


@dataclass(frozen=True)
class Convolution:
    """Inputs: map (1, H, W, C); weights (O, kH, kW, C / groups); bias (O,) int32 or int64. Output (1, H', W', O).

    Sums run over ``(x - input_zero_point) * (w - weight_zero_point)``; padding counts as the input's zero point. The
    sums plus bias, of the bias's type, are requantised by ``rule`` with one ``multiplier`` and ``shift`` a channel
    (both int32, see :mod:`tilesim.arithmetic.requantise`), ``output_zero_point`` is added, and the result clamped to
    ``clamp`` (inclusive, in output integers: the activation function and the dtype's range in one).
    """

    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]
    groups: int
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
        columns = self._columns(x, weights.shape)
        w = weights.astype(np.float32)
        w -= np.float32(self.weight_zero_point)
        bounds = magnitude(x.dtype, self.input_zero_point), magnitude(weights.dtype, self.weight_zero_point)
        per_group = weights.shape[0] // self.groups
        sums = np.empty((*columns.shape[1:-1], weights.shape[0]), bias.dtype)
        for group, own in enumerate(columns):
            out = slice(group * per_group, (group + 1) * per_group)
            sums[..., out] = exact_matmul(own, w[out].reshape(per_group, -1).T, *bounds, bias.dtype)
        sums += bias
        scaled = requantise(self.rule, sums, self.multiplier, self.shift)
        return saturate(scaled, self.output_zero_point, self.clamp, x.dtype)

    def _columns(self, x: NDArray[Any], weights_shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Every window as a row, (groups, N, H', W', kH kW C / groups), less the zero point."""
        _, height, width, channels = weights_shape
        view = windows(pad(x, self.padding, self.input_zero_point), (height, width), self.strides, self.dilations)
        split = view.reshape((*view.shape[:-1], self.groups, channels)) if self.groups > 1 else view[..., None, :]
        columns = np.moveaxis(split, -2, 0).astype(np.float32)
        columns -= np.float32(self.input_zero_point)
        return columns.reshape((*columns.shape[:4], -1))

    def macs(self, inputs: list[Tensor], output: Tensor) -> int:
        """Multiply-accumulates of one inference, padding included."""
        return prod(output.shape) * prod(inputs[1].shape[1:])
