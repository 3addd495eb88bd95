"""Tries a core on all programs, in a process of its own: it may crash, or never end.

Usage: trial.py SOURCES LIBRARY EXPECTED [FLAG...]. Makes the library, with those flags for the compiler besides. The
status is 0 if nothing differs from SimPy's runs, 3 if something does, which is printed, and 4 if it does not compile.
"""

import pickle
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.tiled.core.mutation.expected import Expected, retired, said
from tests.tiled.dataflow.carried import OPS, bench_of, carries
from tilesim.machines.frame import named
from tilesim.machines.options import RunOptions
from tilesim.sim.trace.recorder import Recording
from tilesim.tiled.core import build, timing
from tilesim.tiled.dataflow.products import Products
from tilesim.tiled.flat.columns import COLUMNS, EVENTS
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.flat.readout import Timing, Watched
from tilesim.tiled.flat.tables import Tables, tables_of
from tilesim.tiled.isa.model.fields import bits
from tilesim.tiled.isa.model.instructions import Classify, Work
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run import engine

SAME, DIFFERS, NOT_COMPILED = 0, 3, 4
MOST_BYTES = 3 << 30
LATEST = 1 << 20
"""Cycles; no program takes a tenth of that."""


class Tried:
    """A core that stands in for the right one."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self.timing: Timing | None = None

    def timed(
        self,
        program: Program,
        path: Path,
        tables: Tables | None = None,
        traces: bool = True,
        watched: Watched | None = None,
    ) -> Timing:
        self.timing = timing.timed(program, path, tables, traces, watched)
        return self.timing

    def difference(self, expected: Expected) -> str:
        """What differs of a program's run; empty if nothing does."""
        try:
            options = RunOptions(engine="compiled", recording=Recording(), holds=expected.holds)
            run = engine.compiled_run(named(expected.program), expected.inputs, options, racing=False)
        except Exception as error:  # noqa: BLE001  # whatever comes of a log that no core can have made
            return f"{type(error).__name__}: {error}"
        if expected.outputs is None or isinstance(run, str):
            return "" if expected.outputs is None and isinstance(run, str) else f"the end: {run}"
        assert self.timing is not None
        assert self.timing.events is not None
        if retired(named(expected.program), self.timing.events) != expected.retired:
            return "retirements"
        if risen(self.timing) != due(expected.program):
            return "rises"
        if any(not np.array_equal(one, other) for one, other in zip(run.outputs, expected.outputs, strict=True)):
            return "outputs"
        return "" if said(run) == expected.said else "run.json, or who ended stalls"

    def goes_through(self, expected: Expected) -> str:
        """Nothing, if nobody ends the process; for sanitizers, to whom bytes are nothing."""
        if expected.outputs is None:
            self.timed(named(expected.program), self._library)
        else:
            self.difference(expected)
        return ""


def risen(timing: Timing) -> list[tuple[int, ...]]:
    """What the log of the run says of flags that rise before an instruction is over: tile, instruction, iterations."""
    assert timing.run is not None
    rose = timing.run.events[timing.run.events[:, 4] == EVENTS.index("rose")]
    return sorted(map(tuple, rose[:, [1, 2, 5]].tolist()))


def due(program: Program) -> list[tuple[int, ...]]:
    """The same, as the instructions say it."""
    tables, loads = tables_of(named(program)), len(program.load)
    found: list[tuple[int, ...]] = []
    for place, op in enumerate(program.run, loads):
        row = dict(zip(COLUMNS, tables.ops[place].tolist(), strict=True))
        if isinstance(op, Work) and not isinstance(op, Classify):
            period, listed = row["rise_period"], tables.pool[row["rises"] : row["rises"] + row["rise_count"]].tolist()
            done = [*range(period, row["rounds"], period)] if period else [k for k in listed if k < row["rounds"]]
            found += [(tile, place, k) for tile in bits(op.tiles) for k in done]
    return sorted(found)


def main(sources: Path, library: Path, path: Path, flags: Sequence[str]) -> int:
    if not flags:  # sanitizers reserve all addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    build.SOURCES = sources
    try:
        build.build(library, "-O1", *flags)
    except NoCompiler:
        return NOT_COMPILED
    timing.LATEST = LATEST
    tried = Tried(library)
    engine.library, engine.timed = lambda: library, tried.timed
    for number, expected in enumerate(pickle.loads(path.read_bytes())):  # noqa: S301
        if difference := tried.goes_through(expected) if flags else tried.difference(expected):
            print(f"program {number}: {difference}"[:200])
            return DIFFERS
    if difference := products_differ(library, flags):
        print(f"products: {difference}")
        return DIFFERS
    return SAME


def products_differ(library: Path, flags: Sequence[str]) -> str:
    """Which operations give other bytes, also on machines without the vectors of this one."""
    plain = library.with_name("plain.so")
    build.build(plain, "-O1", "-DPLAIN", *flags)
    for path in (library, plain):
        by = Products(timing.loaded(path))
        for name, op in OPS.items():
            try:
                if not all(carries(bench_of(samples), op, by) for samples in (1, 3)):
                    return f"{name} is left out"
            except AssertionError:
                return name
    return ""


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:4]), sys.argv[4:]))
