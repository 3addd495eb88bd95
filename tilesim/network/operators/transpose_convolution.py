"""Transposed convolution: every pixel spreads a window of products."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import exact_matmul, magnitude
from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.errors import ArrayError
from tilesim.network.graph import Tensor


@dataclass(frozen=True)
class TransposeConvolution:
    """Inputs: map (1, H, W, C); weights (O, kH, kW, C); bias (O,) int32 or int64; or also the output's shape as int32,
    which must be what the model file has. Output (1, H', W', O).

    The pixel at (y, x) adds to the outputs from (y * strides[0] - cropped[0], x * strides[1] - cropped[1]) on, as many
    as the window has; what lies outside ``size``, (H', W'), is lost. The other fields are those of
    :class:`~tilesim.network.operators.convolution.Convolution`.
    """

    strides: tuple[int, int]
    cropped: tuple[int, int]
    size: tuple[int, int]
    input_zero_point: int
    weight_zero_point: int
    output_zero_point: int
    rule: str
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int32]
    clamp: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        x, weights, bias, *shapes = inputs
        for shape in shapes:
            self._check(shape, len(bias))
        sums = self._sums(x, weights, bias.dtype) + bias
        return saturate(
            requantise(self.rule, sums, self.multiplier, self.shift), self.output_zero_point, self.clamp, x.dtype
        )

    def _check(self, shape: NDArray[Any], channels: int) -> None:
        """The shape that an input says; its first number is that of samples."""
        wanted = [*self.size, channels]
        if shape.tolist()[1:] != wanted:
            raise ArrayError(f"the shape of a transposed convolution must be {[1, *wanted]}, not {shape.tolist()}")

    def _sums(self, x: NDArray[Any], weights: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        n, height, width, channels = x.shape
        outputs, rows, columns, _ = weights.shape
        bounds = magnitude(x.dtype, self.input_zero_point), magnitude(weights.dtype, self.weight_zero_point)
        pixels = (x.astype(np.int32) - np.int32(self.input_zero_point)).reshape(-1, channels)
        factors = weights.astype(np.int32) - np.int32(self.weight_zero_point)
        (down, across), (top, left) = self.strides, self.cropped
        tall = max((height - 1) * down + rows, top + self.size[0])
        wide = max((width - 1) * across + columns, left + self.size[1])
        whole = np.zeros((n, tall, wide, outputs), dtype)
        for ky, kx in np.ndindex(rows, columns):
            own = exact_matmul(pixels, factors[:, ky, kx].T, *bounds, dtype).reshape(n, height, width, outputs)
            whole[:, ky : ky + height * down : down, kx : kx + width * across : across][:, :height, :width] += own
        return whole[:, top : top + self.size[0], left : left + self.size[1]]

    def macs(self, inputs: list[Tensor], _output: Tensor) -> int:
        """Multiply-accumulates of one inference, those that are lost included."""
        return prod(inputs[0].shape[:3]) * prod(inputs[1].shape)
