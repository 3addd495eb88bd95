"""The transfers that a run waits for, and what it saves if one takes no time."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilesim import api
from tilesim.cli import app
from tilesim.errors import InputError
from tilesim.report.analysis.blame import blamed
from tilesim.report.document import SavedRun, load_run
from tilesim.report.transfers import SHOWN, simulated, transfers
from tilesim.tiled.run.event_driven import obstacle


@pytest.fixture(scope="module", params=["edge-2x2", "systolic-4"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SavedRun:
    folder = tmp_path_factory.mktemp("saved")
    app(["run", "digits", "-t", request.param, "--trace", "--out", str(folder)], standalone_mode=False)
    return load_run(folder)


def test_all_of_them_can_take_no_time(saved: SavedRun) -> None:
    found = transfers(saved)
    assert len(found) > SHOWN
    assert saved.program is not None
    api.simulate(saved.program, instant=[each.label for each in found])


def test_they_are_waited_for_as_the_matrix_says(saved: SavedRun) -> None:
    assert saved.trace is not None
    assert saved.path is not None
    waited = {each.label: each.cycles for each in blamed(saved.trace, saved.stalls)}
    found = transfers(saved)
    assert {each.label: each.waited_cycles for each in found} == {
        each.label: waited.get(each.label, 0) for each in found
    }
    first = found[0]
    steps = saved.path.what == saved.trace.whats.index(first.label)
    assert first.path_cycles == saved.path.cycles[steps].sum() > 0
    assert [each.path_cycles for each in found] == sorted((each.path_cycles for each in found), reverse=True)


def test_what_one_saves_is_what_its_command_simulates(
    saved: SavedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = simulated(saved, 2)
    assert found.instant_cycles is not None
    first, second = transfers(saved)[:2]
    assert list(found.instant_cycles) == [first.label, second.label]
    monkeypatch.chdir(saved.folder)
    app([*shlex.split(first.command)[1:], "--out", str(tmp_path)], standalone_mode=False)
    again = load_run(tmp_path).statistics
    assert (again["cycles"], again["instant"]) == (found.instant_cycles[first.label], [first.label])
    assert np.all([cycles <= saved.statistics["cycles"] for cycles in found.instant_cycles.values()])


def test_a_run_that_its_program_does_not_do_is_refused(saved: SavedRun) -> None:
    with pytest.raises(InputError, match=r"must be of program\.tasm beside it, run without options"):
        simulated(replace(saved, statistics={**saved.statistics, "cycles": 1}), 1)
    with pytest.raises(InputError, match="must have a trace"):
        simulated(replace(saved, trace=None), 1)
    with pytest.raises(InputError, match=r"must have a program\.tasm"):
        simulated(replace(saved, folder=saved.folder / "elsewhere"), 1)


def test_without_a_trace_nobody_knows_them(saved: SavedRun) -> None:
    assert transfers(replace(saved, trace=None)) == []


def test_only_what_moves_is_among_them(digits_run: SavedRun) -> None:
    program = api.compile(api.load_network("digits"), api.load_topology("edge-2x2"))
    labelled = {op.label: op for op in program.run}
    assert [each.label for each in transfers(digits_run) if obstacle(labelled[each.label], program.topology)] == []


def test_of_an_observed_run_it_is_simulated_as_observed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overlap = Path(__file__).parents[2] / "workloads" / "dual-master" / "overlap.tasm"
    folder = tmp_path / "run"
    app(["run", str(overlap), "--rules", "observe", "--trace", "--out", str(folder)], standalone_mode=False)
    run = load_run(folder)
    found = simulated(run, 1)
    monkeypatch.chdir(folder)
    first = transfers(run)[0]
    app([*shlex.split(first.command)[1:], "--out", str(tmp_path / "again")], standalone_mode=False)
    assert found.instant_cycles == {first.label: load_run(tmp_path / "again").statistics["cycles"]}
    strict = replace(run, statistics={**run.statistics, "findings": []})
    with pytest.raises(InputError, match="not of one that can't go on so"):
        simulated(strict, 1)
