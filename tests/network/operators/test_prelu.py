"""Leaky ReLUs with a slope for each channel, by hand."""

from __future__ import annotations

import numpy as np

from tilesim.network.operators import Prelu

HALF = (1 << 30, 0)
"""Multiplier and shift of a half."""


def test_slopes_by_hand() -> None:
    """(x - 1) / 2 from 0 on; below (x - 1)(slope + 2) / 8: halves and eighths go away from zero. Then 3 is added."""
    x = np.array([[[5, -8], [2, 1], [-3, 127]]], np.int8)
    slopes = np.array([2, -6], np.int8)
    made = Prelu(1, -2, 3, "double", HALF, (1 << 30, -2)).evaluate([x, slopes])
    assert made.tolist() == [[[5, 8], [4, 3], [1, 66]]]
