"""Whether a program may run at all: what is wrong with it for which no run is needed."""

from __future__ import annotations

from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.effects import effects_of
from tilesim.tiled.rules.tile.hazards import hazards
from tilesim.tiled.rules.tile.regions import strays


def unsound(program: Program) -> list[str]:
    """What the chip can't run, or else operands out of their regions and accesses in no order, one sentence each.

    It is found out once for a program: whoever compiled it, ran it before, or sealed its file has asked already.
    """
    if program.is_known_sound:
        return []
    sentences = program.once(faults) or [*misplaced(program), *races(program)]
    if not sentences:
        program.know_sound()
    return sentences


def unrunnable(program: Program) -> list[str]:
    """That of it with which there is no run to observe: everything but accesses in no order."""
    return [] if program.is_known_sound else program.once(faults) or misplaced(program)


def racing(program: Program) -> bool:
    """Whether there are accesses in no order."""
    return not program.is_known_sound and bool(races(program))


def misplaced(program: Program) -> list[str]:
    """Operands out of their regions; whatever is known of the program, this looks at it."""
    return program.once(_of_operands)[0]


def races(program: Program) -> list[str]:
    """Accesses in no order, likewise."""
    return program.once(_of_operands)[1]


def _of_operands(program: Program) -> tuple[list[str], list[str]]:
    sections = effects_of(program)
    return strays(program, sections), hazards(program, sections)
