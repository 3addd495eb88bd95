"""What SimPy makes of some programs, kept for mutants of the core to be compared with."""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tilesim
from tests.tiled.corpus.gates import with_gates
from tests.tiled.corpus.holds import random_holds
from tests.tiled.corpus.links import with_narrow_links
from tests.tiled.corpus.programs import inputs_of, program_of_many_groups, random_program
from tests.tiled.corpus.records import with_records
from tests.tiled.corpus.written import behind_a_full_outfeed
from tests.tiled.hosted import CASES, hosted
from tilesim.errors import ProgramError, RunError
from tilesim.machines.frame import named
from tilesim.machines.host import random_inputs
from tilesim.machines.options import RunOptions
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.delayed_issue import holds_of
from tilesim.tiled.run.event_driven import run_sections
from tilesim.tiled.run.host_driver import HostSide
from tilesim.tiled.run.simulate import simulate
from tilesim.tiled.units.chip import Chip

NUMBERS = (*range(200), 233, 239, 322, 967, 1285, 1926, 2040)
"""Of random programs; of the last seven two have what comes over the mesh held by flags, one a tile that sends while it
takes the parts of a row, one transfers that meet, three unlike result groups.
"""
OF_MANY_GROUPS = (*range(64), 140, 360, 813)
"""Numbers of other ones; in the last three results lag behind, or become others, where groups are passed over."""
COMPILED: tuple[tuple[str, str, dict[str, object], str], ...] = (
    ("pocket", "pocket-2x1", {}, "mixed"),
    ("pocket", "edge-2x2", {}, "mixed"),
    ("pocket", "edge-1x2", {"tile.traversal": "multiplier"}, "mixed"),
    ("pocket", "edge-1x1", {"grid.rows": 5, "grid.columns": 14}, "mixed"),
    ("pocket", "edge-1x1", {"grid.rows": 1, "grid.columns": 61}, "mixed"),
    ("digits", "fig2-5x2", {}, "mixed"),
    ("example-residual", "edge-2x2", {}, "mixed"),
    ("digits", "edge-4x4", {}, "mixed"),
    ("example-conv", "edge-4x4", {}, "spatial"),
)
"""Networks, chips and partitions; one has more than 64 tiles, one 64 stops of the ring, in the last a gate holds a
tensorop behind groups that are passed over.
"""
RATE = 200_000_000
"""Bytes a second of the host's own steps."""
NONE: Mapping[str, int] = {}
CHANGES = (with_gates, with_narrow_links, with_records)
Retirement = tuple[int, int, str]


class Expected(NamedTuple):
    """A program with holds, and its run by SimPy: outputs, what is :func:`said` of it, and when each instruction
    retires on each tile; nothing of a run that can't come to its end.
    """

    program: Program
    inputs: Sequence[NDArray[Any]]
    holds: Mapping[str, int]
    outputs: Sequence[NDArray[Any]] | None = None
    said: str = ""
    retired: Sequence[Retirement] = ()


def kept(path: Path) -> int:
    """Run the programs, keep what comes out, and say of how many."""
    made = [*_all()]
    path.write_bytes(pickle.dumps(made))
    return len(made)


def _all() -> Iterator[Expected]:
    for number in NUMBERS:
        bare = random_program(number)
        if not uncovered(bare):
            for program in (bare, *(change(bare, number) for change in CHANGES)):
                yield from _of(program, inputs_of(program))
            yield from _of(bare, inputs_of(bare), random_holds(bare, number))
    for program in map(program_of_many_groups, OF_MANY_GROUPS):
        if not uncovered(program):
            yield from _of(program, inputs_of(program))
    yield from _of(behind_a_full_outfeed(), [])
    for network, chip, changes, partition in COMPILED:
        program = tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip, changes), partition)
        assert isinstance(program, Program)
        yield from _of(program, random_inputs(program.inputs, 0))
    for name in CASES:
        network, arrays = hosted(name)
        program = tilesim.compile(network, tilesim.load_topology("edge-2x2", {"host.step_bytes_per_second": RATE}))
        assert isinstance(program, Program)
        yield from _of(program, arrays)


def _of(program: Program, inputs: Sequence[NDArray[Any]], holds: Mapping[str, int] = NONE) -> Iterator[Expected]:
    try:
        run = simulate(program, inputs, RunOptions(engine="simpy", recording=Recording(), holds=holds))
    except ProgramError:
        return  # no program
    except RunError:
        yield Expected(program, inputs, holds)
        return
    yield Expected(program, inputs, holds, run.outputs, said(run), _retired(named(program), inputs, holds))


def said(run: Run) -> str:
    """Of a run with its trace: run.json, which has the hash of that, and who ended each stall."""
    assert run.trace is not None
    return f"{run.json()} {run.trace.released_by.tolist()}"


def _retired(program: Program, inputs: Sequence[NDArray[Any]], holds: Mapping[str, int]) -> list[Retirement]:
    """Of the run section, from its beginning."""
    found: list[Retirement] = []
    host = HostSide(program, inputs)
    chip = Chip(
        program.topology,
        1,
        None,
        lambda tile, label: found.append((chip.clock.cycle, tile, label)),
        host_tasks=host.tasks(lambda: chip.host_outfeed),
    )
    _, run = run_sections(chip, program, host.rows, holds_of(program, holds))
    return sorted((at - run.start, tile, label) for at, tile, label in found if at > run.start)


def retired(program: Program, events: NDArray[np.int64]) -> list[Retirement]:
    """The same of the core's log."""
    labels = [op.label for op in (*program.load, *program.run)]
    return sorted((at + 1, tile, labels[op]) for at, tile, op, _, what in events.tolist() if what == 1 and tile >= 0)
