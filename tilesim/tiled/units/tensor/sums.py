"""The sums of lanes as wide rows have them: int32; or, of operands of 16 bits, 64 bits, whose low halves make a row and
whose high halves the next. Biases stand likewise.

Timing: none of its own; each row is an access of its own. Source: assumption.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.units.tensor.operations import Array, Sums

HALF_BITS = 32


def from_rows(rows: NDArray[np.int32]) -> Sums:
    """(..., rows, lanes) as sums (..., lanes)."""
    if rows.shape[-2] == 1:
        return rows[..., 0, :]
    return rows[..., 0, :].view(np.uint32) | rows[..., 1, :].astype(np.int64) << HALF_BITS


def to_rows(sums: Sums) -> Array:
    """Sums (..., lanes) as bytes (..., rows, 4 * lanes)."""
    halves = [sums] if sums.dtype == np.int32 else [sums & 0xFFFFFFFF, sums >> HALF_BITS]
    rows = np.stack([half.astype(np.uint32) for half in halves], axis=-2)
    return rows.view(np.uint8)
