"""The vector unit's instructions, each in a file of its own."""

from __future__ import annotations

from typing import Any

from tilesim.systolic.datapath import activate, combine, copy, fill, lookup, normalise, pool, rescale, softmax
from tilesim.systolic.datapath.memories import Commit, Memories
from tilesim.systolic.isa.model.instructions import (
    Activate,
    Combine,
    Copy,
    Fill,
    Lookup,
    Normalisation,
    Pool,
    Rescale,
    Softmax,
    VectorInstruction,
)

_PREPARE: dict[type, Any] = {
    Activate: activate.prepare,
    Combine: combine.prepare,
    Copy: copy.prepare,
    Fill: fill.prepare,
    Lookup: lookup.prepare,
    Normalisation: normalise.prepare,
    Pool: pool.prepare,
    Rescale: rescale.prepare,
    Softmax: softmax.prepare,
}


def prepare(op: VectorInstruction, memories: Memories) -> Commit:
    """Read the operands and compute now; what comes back writes the result.

    Raises:
        AccessError: an address that its memory does not have.
    """
    commit: Commit = _PREPARE[type(op)](op, memories)
    return commit
