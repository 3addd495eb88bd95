"""Holds for programs of the corpus: some instructions begin later, on all their tiles or on one of them."""

from __future__ import annotations

from random import Random

from tilesim.machines.frame import named
from tilesim.tiled.isa.model.fields import bits
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.delayed_issue import tiles_of

LATEST = 600


def random_holds(program: Program, number: int) -> dict[str, int]:
    """Some of a program's instructions by label, or by label and tile, and the cycle up to which each is held."""
    random, given = Random(number), {}  # noqa: S311
    labelled = named(program)
    for op in (*labelled.load, *labelled.run):
        tiles = tiles_of(op)
        if tiles is None or random.random() < 2 / 3:
            continue
        if random.random() < 1 / 2:
            given[op.label] = random.randrange(LATEST)
        if tiles and random.random() < 1 / 2:
            given[f"{op.label}@{random.choice(bits(tiles))}"] = random.randrange(LATEST)
    return given
