"""Random programs on chips whose rings and meshes are narrower than a row and a word."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tilesim.tiled.isa.model.program import Program

PARTS = (1, 2, 2, 4)
"""In so many parts rows and words go."""


def with_narrow_links(program: Program, number: int) -> Program:
    """``program`` on a chip where a row, a word, or both take several cycles from place to place."""
    random, chip = Random(number), program.topology  # noqa: S311
    row, word = (size // random.choice(PARTS) for size in (chip.wide_memory.row_bytes, chip.narrow_memory.word_bytes))
    ring, mesh = (bus.model_copy(update={"width_bytes": width}) for bus, width in ((chip.ring, row), (chip.mesh, word)))
    return replace(program, topology=chip.model_copy(update={"ring": ring, "mesh": mesh}))
