"""Whether a program may run at all: what is wrong with it for which no run is needed."""

from __future__ import annotations

from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.hazards import hazards
from tilesim.tiled.rules.tile.regions import strays


def unsound(program: Program) -> list[str]:
    """What the chip can't run, or else operands out of their regions and accesses in no order, one sentence each.

    It is found out once for a program: whoever compiled it, or ran it before, has asked already.
    """
    return program.once(faults) or [*program.once(strays), *program.once(hazards)]


def unrunnable(program: Program) -> list[str]:
    """That of it with which there is no run to observe: everything but accesses in no order."""
    return program.once(faults) or program.once(strays)
