"""Softmax of runs of bytes."""

from __future__ import annotations

import numpy as np

from tilesim.arithmetic.softmax import softmax, softmax_aligned
from tilesim.arithmetic.softmax_fixed import softmax_fixed
from tilesim.systolic.datapath.memories import Commit, Memories, nest, writing
from tilesim.systolic.isa.model.instructions import Softmax

_RULES = {"plain": softmax, "aligned": softmax_aligned, "fixed": softmax_fixed}


def prepare(op: Softmax, memories: Memories) -> Commit:
    """Each innermost run by itself."""
    *bits, zero_point = op.scaling
    input_scale, output_scale = (float(scale) for scale in np.array(bits, np.int64).view(np.float64))
    x = nest(memories.buffer, op.source, op.element)
    values = _RULES[op.rule](x, input_scale, output_scale, zero_point, op.clamp)
    return writing(nest(memories.buffer, op.destination, op.element), values)
