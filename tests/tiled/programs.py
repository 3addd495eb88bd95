"""Programs written down as text, for tests."""

from pathlib import Path

import numpy as np

import tilesim
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model.program import Program


def program(run: str, chip: str = "pocket-2x1", load: str = "", head: str = "", **changes: object) -> Program:
    """A program for a shipped chip; ``run`` and ``load`` hold a line an instruction."""
    keys = {key.replace("__", "."): value for key, value in changes.items()}
    empty = Program("test", tilesim.load_topology(chip, keys), (), ())
    first = ASSEMBLY.write(empty).removesuffix(".load\n.run\n")
    return ASSEMBLY.read(f"{first}{head}\n.load\n{load}\n.run\n{run}\n", Path("test.tasm"))


def same(a: Program, b: Program) -> bool:
    """Whether two programs are the same, to the last byte of their data."""
    pairs = zip(a.data, b.data, strict=True)
    return ASSEMBLY.write(a) == ASSEMBLY.write(b) and all(np.array_equal(x.data, y.data) for x, y in pairs)
