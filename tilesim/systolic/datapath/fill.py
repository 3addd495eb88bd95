"""One byte everywhere."""

from __future__ import annotations

import numpy as np

from tilesim.systolic.datapath.memories import Commit, Memories, nest, writing
from tilesim.systolic.isa.model.instructions import Fill


def prepare(op: Fill, memories: Memories) -> Commit:
    """Nothing is read."""
    there = nest(memories.buffer, op.destination)
    return writing(there, np.broadcast_to(np.uint8(op.value), there.shape))
