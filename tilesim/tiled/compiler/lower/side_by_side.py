"""Several outputs of a row side by side in the lanes, for layers with few output channels.

All lanes get the same narrow word, and each has weights of its own. So a layer of which one pixel's channels leave
lanes idle can make ``pixels`` neighbours at once: it walks over the input columns that any of them reads, and the lanes
of a pixel to which a column is no tap have the weight's zero point there. To the tile this is another convolution, with
``pixels`` times the outputs, ``pixels`` times the stride, and a wider kernel.

Timing: a kernel of w columns, dilated by d, at stride s takes ((w - 1) d + (n - 1) s) / gcd(d, s) + 1 columns for n > 1
pixels instead of n w. Source: assumption; US 19/025,090 [0067] for the word that goes to all lanes.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.tiled.compiler.feature_map import padded


class SideBySide(Struct, frozen=True):
    """``pixels`` outputs of a row in lanes; ``stride`` input columns from one to the next, ``dilation`` from one tap to
    the next.
    """

    pixels: int
    stride: int = 1
    dilation: int = 1

    @property
    def pitch(self) -> int:
        """Input columns from one that is walked over to the next."""
        return self.dilation if self.pixels == 1 else gcd(self.dilation, self.stride)

    def turns(self, outputs: int) -> int:
        """How often the kernel is moved along a row of so many outputs."""
        return -(-outputs // self.pixels)

    def last(self, outputs: int) -> int:
        """The outputs of a row's last turn."""
        return outputs - (self.turns(outputs) - 1) * self.pixels

    def columns(self, taps: int) -> int:
        """Input columns that are walked over, for a kernel with so many taps in a row."""
        return ((taps - 1) * self.dilation + (self.pixels - 1) * self.stride) // self.pitch + 1

    def kernel(self, weights: NDArray[Any], pixel_lanes: int, fill: int) -> NDArray[Any]:
        """Weights (O, kH, kW, C) as (pixels x ``pixel_lanes``, kH, columns, C); ``fill``, the zero point, where a lane
        has no tap.
        """
        outputs, height, taps, channels = weights.shape
        wide = np.full((self.pixels, pixel_lanes, height, self.columns(taps), channels), fill, weights.dtype)
        for pixel in range(self.pixels):
            for tap in range(taps):
                column = (pixel * self.stride + tap * self.dilation) // self.pitch
                wide[pixel, :outputs, :, column] = weights[:, :, tap]
        return wide.reshape(-1, height, wide.shape[3], channels)

    def of_all(self, values: NDArray[np.int32], pixel_lanes: int) -> NDArray[np.int32]:
        """A number for each output as one for each lane of all pixels."""
        return np.tile(np.pad(values, (0, pixel_lanes - len(values))), self.pixels)


def ungrouped(weights: NDArray[Any], groups: int, fill: int) -> NDArray[Any]:
    """Grouped weights with the weights between groups written out as ``fill``, their zero point."""
    outputs, height, width, channels = weights.shape
    dense = np.full((outputs, height, width, groups, channels), fill, weights.dtype)
    group = np.arange(outputs) * groups // outputs
    dense[np.arange(outputs), :, :, group] = weights
    return dense.reshape(outputs, height, width, groups * channels)


def widened(positions: range, pixels: int) -> range:
    """Output positions and those behind them that share their last group's walk."""
    return range(positions.start, positions.start + padded(len(positions), pixels))
