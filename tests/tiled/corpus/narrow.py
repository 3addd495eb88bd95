"""Random programs on chips whose links are narrower than what they carry."""

from __future__ import annotations

from random import Random

from tests.tiled.corpus.programs import random_program
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Topology

WHOLE = 0.2
"""Share of the links that are as wide as what they carry."""


def narrow_program(number: int, queues: int = 1) -> Program:
    """The program of that number; links of its chip are narrow, on which no program depends."""
    program = random_program(number, queues=queues)
    chip, random = program.topology, Random(f"narrow {number}")  # noqa: S311
    widths = {
        "ring.width_bytes": width(random, chip.wide_memory.row_bytes),
        "mesh.width_bytes": width(random, chip.narrow_memory.word_bytes),
    }
    return program.retargeted(with_keys(chip, widths))


def width(random: Random, whole_bytes: int) -> int:
    """A power of two up to the whole."""
    if random.random() < WHOLE:
        return whole_bytes
    return int(1 << random.randrange(whole_bytes.bit_length()))


def with_keys(chip: Topology, values: dict[str, int]) -> Topology:
    tree = chip.model_dump()
    for key, value in values.items():
        section, name = key.split(".")
        tree[section][name] = value
    return Topology.model_validate(tree)
