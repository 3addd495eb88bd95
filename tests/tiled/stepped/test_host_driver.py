"""What the stepped model's host makes of the user's arrays."""

from __future__ import annotations

import numpy as np

import tilesim
from tilesim.tiled.stepped.host_driver import HostSide


def test_reals_that_overflow_saturate() -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1"))
    images = np.full((1, 1, 8, 8), 3e38, np.float32)
    images[..., 0] = -np.inf
    images[..., 1] = np.nan
    [row] = HostSide(program, [images]).rows
    pixels = row.view(np.int8)[::4]  # a word of narrow memory each
    assert pixels[:3].tolist() == [-128, -128, 127]
