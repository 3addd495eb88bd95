"""What a program holds for the waits that nothing ends: who was to end each of them, and how far that goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilesim.tiled.hang.context import Story
from tilesim.tiled.hang.flags import fences, flags
from tilesim.tiled.hang.mesh import words
from tilesim.tiled.hang.ring import rows, turns
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.units.chip import Chip


def causes(chip: Chip, program: Program, section: str) -> Iterator[str]:
    """A line for each flag, ring stop and mesh link at which a unit of a stuck ``chip`` waits in vain, and for a scalar
    fence: what all of the program does for it, whether that is over or still to come.
    """
    known = replace(program, run=()) if section == "load" else program
    story = Story(chip, known, getattr(program, section))
    for tell in (flags, turns, rows, words, fences):
        yield from tell(story)
