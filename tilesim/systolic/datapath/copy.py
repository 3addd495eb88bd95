"""Bytes as they are, elsewhere."""

from __future__ import annotations

from tilesim.systolic.datapath.memories import Commit, Memories, nest, writing
from tilesim.systolic.isa.model.instructions import Copy


def prepare(op: Copy, memories: Memories) -> Commit:
    """Read all, before any is written."""
    return writing(nest(memories.buffer, op.destination), nest(memories.buffer, op.source).copy())
