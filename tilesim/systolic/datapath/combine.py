"""Two operands element by element."""

from __future__ import annotations

from tilesim.arithmetic.add import add
from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.requantise import saturate
from tilesim.systolic.datapath.memories import Commit, Memories, nest, writing
from tilesim.systolic.isa.model.instructions import Combine

_FUNCTIONS = {"add": add, "multiply": multiply}


def prepare(op: Combine, memories: Memories) -> Commit:
    """Add or multiply."""
    a, b = (nest(memories.buffer, places, op.element) for places in (op.a, op.b))
    values = _FUNCTIONS[op.function](op.rule, a.reshape(len(a), -1), b.reshape(len(b), -1), op.scaling)
    clamped = saturate(values, 0, op.clamp, a.dtype)
    return writing(nest(memories.buffer, op.destination, op.element), clamped)
