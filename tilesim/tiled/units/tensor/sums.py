"""The sums of lanes as wide rows have them: int32; or, of operands of 16 bits, 64 bits, whose low halves fill a
register's bytes and whose high halves the next ones. Biases stand likewise.

Timing: none of its own; sums of 64 bits take two accesses where a register's bytes fill a row, one in larger rows, in
which they stand at multiples of both registers' bytes. Source: assumption.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.units.tensor.operations import Array, Sums

HALF_BITS = 32


def from_registers(registers: NDArray[np.int32]) -> Sums:
    """(..., registers, lanes) as sums (..., lanes)."""
    if registers.shape[-2] == 1:
        return registers[..., 0, :]
    return registers[..., 0, :].view(np.uint32) | registers[..., 1, :].astype(np.int64) << HALF_BITS


def to_registers(sums: Sums) -> Array:
    """Sums (..., lanes) as bytes (..., registers, 4 * lanes)."""
    if sums.dtype == np.int32:
        return np.ascontiguousarray(sums)[..., None, :].view(np.uint8)
    halves = [half.astype(np.uint32) for half in (sums & 0xFFFFFFFF, sums >> HALF_BITS)]
    return np.stack(halves, axis=-2).view(np.uint8)
