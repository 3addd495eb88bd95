"""Average of each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tilesim.arithmetic.requantise import float_bits, requantise, saturate
from tilesim.network.operators.padding import Padding
from tilesim.network.operators.windows import output_size, pad, taps, windows

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class AveragePool:
    """Input: map (1, H, W, C). Output (1, H', W', C).

    Sums run over ``x - input_zero_point``, padding counts as the zero point. A sum is scaled by what
    :meth:`requantisation` says for the number of elements it averages: the window's, or without
    ``count_includes_padding`` those inside the map. ``rule`` is ``divide`` (scales must agree, zero points are 0) or
    ``float`` (input scale over output scale and count). ``scales`` are the float32 scales of input and output.
    """

    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding
    count_includes_padding: bool
    input_zero_point: int
    output_zero_point: int
    rule: str
    scales: tuple[float, float]
    clamp: tuple[int, int]

    def requantisation(self, count: int) -> tuple[str, int, int]:
        """(rule, multiplier, shift) for a sum of ``count`` elements."""
        if self.rule == "divide":
            return self.rule, count, 0
        scale = np.float32(self.scales[0]) / (np.float32(self.scales[1]) * np.float32(count))
        return self.rule, int(float_bits(float(scale))[0]), 0

    def counts(self, height: int, width: int) -> NDArray[np.int32]:
        """Elements averaged at each output position (H', W') of a map with ``height`` rows and ``width`` columns."""
        if self.count_includes_padding:
            size = output_size((height, width), self.window, self.strides, self.padding)
            return np.full(size, self.window[0] * self.window[1], np.int32)
        inside = pad(np.ones((1, height, width, 1), np.int32), self.padding, 0)
        return np.asarray(windows(inside, self.window, self.strides).sum(axis=(0, 3, 4, 5)), np.int32)

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the input's dtype; any number of samples on the first axis."""
        (x,) = inputs
        padded = pad(x, self.padding, self.input_zero_point).astype(np.int32) - np.int32(self.input_zero_point)
        view = windows(padded, self.window, self.strides)
        sums = np.zeros((*view.shape[:3], x.shape[-1]), np.int32)
        for _, _, tap in taps(view):
            sums += tap
        counts = self.counts(x.shape[1], x.shape[2])
        for count in np.unique(counts):
            rule, multiplier, shift = self.requantisation(int(count))
            own = counts == count
            sums[:, own] = requantise(rule, sums[:, own], np.array([multiplier], np.int32), np.array([shift], np.int32))
        return saturate(sums, self.output_zero_point, self.clamp, x.dtype)
