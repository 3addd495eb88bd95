"""Instructions that the user lets begin later."""

from __future__ import annotations

from collections.abc import Mapping

from tilesim.machines.holds import Holds, holds
from tilesim.tiled.isa.model.instructions import Broadcast, Instruction, Record, ScalarFence, TileFence
from tilesim.tiled.isa.model.program import Program


def holds_of(program: Program, given: Mapping[str, int]) -> Holds:
    """The holds that the user has ``given``; raises as :func:`~tilesim.machines.holds.holds`."""
    return holds(program, given, tiles_of)


def tiles_of(op: Instruction) -> int | None:
    """The tiles at which an instruction begins; None for what no unit takes up."""
    return None if isinstance(op, TileFence | ScalarFence | Broadcast | Record) else getattr(op, "tiles", 0)
