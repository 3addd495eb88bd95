"""From one quantisation to another."""

from __future__ import annotations

import numpy as np

from tilesim.arithmetic.requantise import requantise, saturate
from tilesim.systolic.datapath.memories import Commit, Memories, nest, writing
from tilesim.systolic.isa.model.instructions import Rescale


def prepare(op: Rescale, memories: Memories) -> Commit:
    """One multiplier and shift for all elements."""
    centred = nest(memories.buffer, op.source, op.element).astype(np.int32) - np.int32(op.input_zero_point)
    factors = np.array([op.multiplier], np.int32), np.array([op.shift], np.int32)
    values = saturate(requantise(op.rule, centred, *factors), op.zero_point, op.clamp, np.dtype(op.result))
    return writing(nest(memories.buffer, op.destination, op.result), values)
