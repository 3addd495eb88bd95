"""A function of one byte, looked up."""

from __future__ import annotations

from tilesim.arithmetic.table import ENTRIES, look_up
from tilesim.systolic.datapath.memories import Commit, Memories, nest, writing
from tilesim.systolic.isa.model.instructions import Lookup


def prepare(op: Lookup, memories: Memories) -> Commit:
    """Replace bytes by entries of the table, which is that of all samples."""
    table = memories.buffer.row(op.table, ENTRIES)[0]
    return writing(nest(memories.buffer, op.destination), look_up(table, nest(memories.buffer, op.source)))
