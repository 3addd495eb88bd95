"""Runs a core over programs of the corpus, and over their tables with one number spoiled: what a test has done in a
process of its own, where sanitizers end it at the first access that is wrong.

Usage: sanitized.py LIBRARY PROGRAMS SPOILS. Prints how many ended how.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec.structs import replace

import tilesim
from tests.tiled.corpus.holds import random_holds
from tests.tiled.corpus.programs import random_program
from tests.tiled.hosted import CASES, hosted
from tilesim.machines.frame import named
from tilesim.tiled.core import timing
from tilesim.tiled.flat.checks import TableFault
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.flat.tables import Tables, tables_of
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.delayed_issue import holds_of

LATEST = 5000
"""Spoiled programs may go on for ever."""


def spoiled(tables: Tables, random: Random) -> Tables:
    """The same tables, but for one number."""
    name = random.choice(["ops"] * 6 + ["pool"] * 3 + ["bitmaps", "run"] + ["steps"] * (tables.steps.size > 0))
    array = (tables.sent[1] if name == "run" else getattr(tables, name)).copy()
    if not array.size:
        return tables
    flat = array.reshape(-1)
    place, other = random.randrange(flat.size), int(flat[random.randrange(flat.size)])
    old = int(flat[place])
    new = random.choice([old + 1, old - 1, 0, 1, 2, 3, 2 * old, -1, random.randrange(40), other, 1 << 39, 1 << 62])
    flat[place] = min(abs(new) if name == "bitmaps" else new, (1 << 63) - 1)
    return replace(tables, sent=(tables.sent[0], array)) if name == "run" else replace(tables, **{name: array})


def with_steps() -> Iterator[Program]:
    """Programs of which the host computes a part."""
    for name in CASES:
        program = tilesim.compile(hosted(name)[0], tilesim.load_topology("edge-1x1"))
        assert isinstance(program, Program)
        yield program


def ends(library: Path, program: Program, tables: Tables) -> str:
    try:
        return timing.timed(program, library, tables, traces=True).outcome
    except TableFault:
        return "refused"


def main(library: Path, count: int, spoils: int) -> None:
    programs = [
        named(program) for program in (*map(random_program, range(count)), *with_steps()) if not uncovered(program)
    ]
    held = [holds_of(program, random_holds(program, number)) for number, program in enumerate(programs)]
    tables = [tables_of(program, holds=holds) for program, holds in zip(programs, held, strict=True)]
    found = Counter(ends(library, program, each) for program, each in zip(programs, tables, strict=True))
    print("whole", *sorted(found))
    timing.LATEST = LATEST
    found = Counter()
    for number in range(spoils):
        random = Random(number)  # noqa: S311
        k = random.randrange(len(programs))
        found[ends(library, programs[k], spoiled(tables[k], random))] += 1
    print("spoiled", *sorted(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
