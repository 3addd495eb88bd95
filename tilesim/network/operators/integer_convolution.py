"""Two-dimensional convolution of integers, whose zero point may come while the network runs; sums stay sums."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import exact_matmul
from tilesim.network.graph import Tensor
from tilesim.network.operators.samples import each_sample
from tilesim.network.operators.windows import Padding, pad, windows

FARTHEST = 255
"""How far an integer of 8 bits may be from its zero point."""


@dataclass(frozen=True)
class IntegerConvolution:
    """Inputs: map (1, H, W, C) and constant weights (O, kH, kW, C / groups), of 8 bits; the zero point (1,) of each, of
    its type. Output: int32 (1, H', W', O), the sums of ``(x - zero_point) * (w - zero_point)``. Padding counts as the
    zero point. ``firsts`` are the lengths of their first axes; 0 stands for a constant.
    """

    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]
    groups: int
    firsts: tuple[int, int, int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Any number of samples on the first axis."""
        return each_sample(inputs, self.firsts, self._sums)

    def _sums(self, x: NDArray[Any], w: NDArray[Any], zero: NDArray[Any], weight_zero: NDArray[Any]) -> NDArray[Any]:
        outputs, height, width, channels = w.shape
        centred = pad(x.astype(np.int32) - zero.astype(np.int32), self.padding, 0)
        view = windows(centred, (height, width), self.strides, self.dilations)
        columns = view.reshape((*view.shape[:-1], self.groups, channels))
        taps = (w.astype(np.int32) - weight_zero.astype(np.int32)).reshape(self.groups, outputs // self.groups, -1)
        sums = [
            exact_matmul(columns[..., group, :].reshape(*view.shape[:3], -1), own.T, FARTHEST, FARTHEST)
            for group, own in enumerate(taps)
        ]
        return np.concatenate(sums, axis=-1)

    def macs(self, inputs: list[Tensor], output: Tensor) -> int:
        """Multiply-accumulates of one inference, padding included."""
        return prod(output.shape) * prod(inputs[1].shape[1:])
