"""The section of words that rotate: its columns unpack to the motion, it says what is missing, and stays small."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tilesim
from tests.report.saved import made_up
from tilesim.machines.machine import MovesWords
from tilesim.machines.motion import Motion
from tilesim.registry import machine_of
from tilesim.report.document import SavedRun, load_run
from tilesim.report.page import rotation as module
from tilesim.report.page.build import encoded
from tilesim.report.page.rotation import NO_PROGRAM, NO_TRACE, NO_WEIGHTS, rotation, within
from tilesim.report.page.sections import SECTIONS
from tilesim.report.tracks import kind_of
from tilesim.report.words import short_name


def saved(folder: Path, chip: str = "nnu-1024", trace: bool = True) -> SavedRun:
    """A run of ``digits`` with its program."""
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology(chip))
    tilesim.simulate(program, trace=trace).save(folder)
    tilesim.save_program(program, folder / "program.tasm")
    return load_run(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SavedRun:
    return saved(tmp_path_factory.mktemp("rotating"))


@pytest.fixture(scope="module")
def motion(run: SavedRun) -> Motion:
    assert run.program is not None
    machine = machine_of(run.program.topology)
    assert isinstance(machine, MovesWords)
    return machine.motion(run.program, run.trace)


def columns_of(run: SavedRun) -> dict[str, NDArray[Any]]:
    section = rotation(run)
    assert section is not None
    return dict(section.columns)


def test_every_slot_arrives(run: SavedRun, motion: Motion) -> None:
    columns = columns_of(run)
    starts = np.cumsum(columns["gap"] + columns["slots"]) - columns["slots"]
    assert starts.tolist() == motion.slots.cycle.tolist()
    for name, column in vars(motion.slots).items():
        assert name == "cycle" or columns[name].tolist() == column.tolist()
    texts = json.loads(columns["texts"].tobytes())
    assert [op["label"] for op in texts["ops"]] == [op.label for op in motion.ops]


def test_its_clocks_are_those_of_the_trace(run: SavedRun, motion: Motion) -> None:
    """Every busy cycle of the array is a slot of the instruction that the trace says."""
    trace = run.trace
    assert trace is not None
    ours = (trace.track == trace.tracks.index("nnu.array")) & (trace.kind == trace.kinds.index("busy"))
    ours &= trace.start_cycle >= trace.start
    busy = {
        int(start) + k - trace.start: trace.whats[what]
        for start, cycles, what in zip(trace.start_cycle[ours], trace.cycles[ours], trace.what[ours], strict=True)
        for k in range(cycles)
    }
    slots = motion.slots
    assert busy == {
        int(cycle) + k: motion.ops[op].label
        for cycle, count, op in zip(slots.cycle, slots.slots, slots.op, strict=True)
        for k in range(count)
    }


def test_it_says_what_there_is(run: SavedRun) -> None:
    section = rotation(run)
    assert section is not None
    assert section.data["note"] == ""
    assert section.data["clocks"] == run.statistics["cycles"]
    assert section.data["timed"]
    assert section.data["layers"] == [short_name(layer["name"]) for layer in run.statistics["layers"]]
    own = next(jump for jump in section.data["jumps"] if jump["is_own"])
    assert (own["words"], own["more"]) == ("1", 0)
    assert rotation in SECTIONS


def test_it_is_small(run: SavedRun) -> None:
    assert sum(len(encoded(column)[1]) for column in columns_of(run).values()) < 100_000


def test_without_a_trace_slots_stand_for_clocks(run: SavedRun) -> None:
    section = rotation(replace(run, trace=None))
    assert section is not None
    assert section.data["note"] == NO_TRACE
    assert not section.data["timed"]
    assert not section.columns["gap"].any()


def test_what_is_missing(run: SavedRun, tmp_path: Path) -> None:
    without = SavedRun(tmp_path, run.statistics, run.trace)
    assert data_of(without) == {"missing": NO_PROGRAM}
    (tmp_path / "program.tasm").write_text("nonsense")
    assert data_of(SavedRun(tmp_path, run.statistics, run.trace))["missing"].startswith(
        "The program beside this run can't"
    )


def test_a_program_that_could_not_run_is_not_shown(run: SavedRun) -> None:
    program = run.program
    assert program is not None
    broken = SavedRun(run.folder, run.statistics, run.trace)
    vars(broken)["program"] = replace(program, run=(*program.run, *program.run))
    assert data_of(broken)["missing"].startswith("The program beside this run could not have run: ")


def data_of(run: SavedRun) -> dict[str, Any]:
    section = rotation(run)
    assert section is not None
    data: dict[str, Any] = section.data
    return data


def test_other_machines_have_no_such_section() -> None:
    assert rotation(made_up(None)) is None
    assert rotation(made_up(None, machine="abacus")) is None


def test_what_is_too_much_is_left_out_and_it_says_so(motion: Motion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 20_000)
    columns, cuts, notes = within(motion)
    assert notes == [NO_WEIGHTS]
    assert (columns["weights"].size, cuts) == (0, [])
    monkeypatch.setattr(module, "MOST_BYTES", 6_300)
    columns, cuts, notes = within(motion)
    assert notes[0] == NO_WEIGHTS
    assert notes[1].startswith("The run is so long that only the first ")
    kept = np.cumsum(columns["gap"] + columns["slots"]) - columns["slots"]
    assert 0 < kept.size < motion.slots.cycle.size
    assert set(kept.tolist()) < set(motion.slots.cycle.tolist())
    layers = np.array([op.layer for op in motion.ops])
    assert set(layers[columns["op"]]) == set(layers[motion.slots.op])
    gaps = set(np.flatnonzero(columns["gap"][1:]).tolist())
    assert cuts
    assert {cut for cut in cuts if cut < kept.size - 1} <= gaps


def test_it_knows_why_the_array_waited(run: SavedRun, motion: Motion) -> None:
    """Every cycle of the run is a slot, a stall with a reason, or behind the last slot."""
    columns = columns_of(run)
    waiting = [
        range(start, start + cycles)
        for start, cycles in zip(columns["stall_cycle"].tolist(), columns["stall_cycles"].tolist(), strict=True)
    ]
    slots = motion.slots
    issued = [range(c, c + n) for c, n in zip(slots.cycle.tolist(), slots.slots.tolist(), strict=True)]
    cycles = sorted(cycle for stretch in (*waiting, *issued) for cycle in stretch)
    assert cycles == [*range(len(cycles))]
    data = data_of(run)
    trace = run.trace
    assert trace is not None
    assert data["waits"] == [kind_of(kind).words for kind in trace.kinds]
    assert {trace.kinds[kind] for kind in columns["stall_kind"].tolist()} >= {"stall:input", "stall:weights"}
