"""Average of each window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.average import average, average_scaling
from tilesim.arithmetic.requantise import float_bits, requantise, saturate
from tilesim.network.operators.windows import Padding, output_size, pad, taps, windows


@dataclass(frozen=True)
class AveragePool:
    """Input: map (1, H, W, C). Output (1, H', W', C).

    Padding counts as the input's zero point; an average is over the window's elements, or without
    ``count_includes_padding`` over those inside the map. ``rule`` is ``divide`` (scales must agree, zero points are 0),
    ``float`` (int32 sums of ``x - input_zero_point`` times input scale over output scale and count) or ``real`` (see
    :mod:`tilesim.arithmetic.average`). ``scales`` are the float32 scales of input and output.
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

    def scaling(self, count: int) -> tuple[int, ...]:
        """What turns a sum of ``count`` elements into their average: multiplier and shift, or an ``AverageScaling``."""
        if self.rule == "real":
            return average_scaling(self.scales, (self.input_zero_point, self.output_zero_point), count)
        if self.rule == "divide":
            return count, 0
        scale = np.float32(self.scales[0]) / (np.float32(self.scales[1]) * np.float32(count))
        return int(float_bits(float(scale))[0]), 0

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
        view = windows(pad(x, self.padding, self.input_zero_point), self.window, self.strides)
        counts = self.counts(x.shape[1], x.shape[2])
        out = np.empty((*view.shape[:3], x.shape[-1]), x.dtype)
        for count in np.unique(counts):
            own = counts == count
            out[:, own] = self._averages((tap[:, own] for _, _, tap in taps(view)), int(count), x.dtype)
        return out

    def _averages(self, elements: Iterable[NDArray[Any]], count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        scaling = self.scaling(count)
        if self.rule == "real":
            return saturate(average(elements, scaling), 0, self.clamp, dtype)
        sums = sum(tap.astype(np.int32) - np.int32(self.input_zero_point) for tap in elements)
        multiplier, shift = (np.array([value], np.int32) for value in scaling)
        scaled = requantise(self.rule, np.asarray(sums, np.int32), multiplier, shift)
        return saturate(scaled, self.output_zero_point, self.clamp, dtype)
