"""Runs that can't go on leave what they did up to where they stood, on both machines."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.systolic.handmade import Listing, topology
from tests.tiled.programs import program
from tilesim import api
from tilesim.cli import app
from tilesim.errors import AccessError, CollisionError, HangError, RunError
from tilesim.machines.options import RunOptions
from tilesim.machines.program import Program
from tilesim.report.analysis.bottleneck import verdict
from tilesim.report.analysis.critical_path import critical_path, shares
from tilesim.report.document import load_run
from tilesim.report.page.sections import report
from tilesim.report.tracks import accounts_of
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording
from tilesim.systolic.isa.model.instructions import Fill, Nest, Queue, Sync
from tilesim.systolic.isa.model.program import Program as SystolicProgram
from tilesim.systolic.run import simulate as systolic

TAKE = "take: ring_consume tiles=0x1 write=[r:2 @0x40+r*16] produce=r"
SEND = "send: infeed source=data rows=2 to=0x1"
COPY = "copy: wide_to_narrow tiles=0x1 read=[r:2 @0x40+r*16] write=[w:8 @0x0+w*4] wait=ring_read_a>={}"
WAITS = f"{TAKE}\n{SEND}\n{COPY.format(3)}"
OVERLAP = Path("workloads/dual-master/overlap.tasm")


def ended(made: Program, kind: type[RunError] = HangError, rules: str = "observe") -> Run:
    return run_of(lambda: api.simulate(made, [], trace=True, rules=rules), kind)


def run_of(simulate: Callable[[], object], kind: type[RunError]) -> Run:
    with pytest.raises(kind) as caught:
        simulate()
    found = caught.value.run
    assert isinstance(found, Run)
    assert found is caught.value.run
    return found


def must_add_up(run: Run) -> None:
    """Accounts are the cycles, and the trace is the accounts."""
    assert run.cycles == run.statistics["cycles"]
    spans = dict.fromkeys(run.trace.tracks if run.trace else (), 0)
    if run.trace is not None:
        for track, start, cycles in zip(run.trace.track, run.trace.start_cycle, run.trace.cycles, strict=True):
            begin = int(start) - run.trace.start
            spans[run.trace.tracks[track]] += max(0, min(begin + int(cycles), run.cycles) - max(begin, 0))
    for unit in accounts_of(run.statistics):
        active = unit["busy_cycles"] + sum(unit["stall_cycles"].values())
        assert active + unit["idle_cycles"] == run.cycles, unit
        if run.trace is not None:
            assert spans.get(unit["track"], 0) == active, unit


def account(run: Run, track: str) -> dict[str, int]:
    [unit] = [unit for unit in accounts_of(run.statistics) if unit["track"] == track]
    return {"busy": unit["busy_cycles"], "idle": unit["idle_cycles"], **unit["stall_cycles"]}


# ---- tiled


def test_a_tiled_run_that_hangs_keeps_what_it_did() -> None:
    run = ended(program(WAITS))
    must_add_up(run)
    assert run.outputs == []
    end = run.statistics["end"]
    assert (end["kind"], end["section"]) == ("hang", "run")
    assert end["report"][0] == f"the run program hangs after {end['cycle']} cycles:"
    assert run.cycles >= end["cycle"]
    assert account(run, "chip.tile0.ring_consumer")["busy"] == 2


def test_the_last_wait_lasts_to_the_end() -> None:
    run = ended(program(WAITS))
    assert run.trace is not None
    track = run.trace.tracks.index("chip.tile0.wide_to_narrow")
    last = np.flatnonzero(run.trace.track == track)[-1]
    assert run.trace.kinds[run.trace.kind[last]] == "stall:flag"
    assert run.trace.start_cycle[last] + run.trace.cycles[last] - run.trace.start == run.cycles


def test_a_run_that_hangs_while_it_loads_is_that_of_the_load() -> None:
    run = ended(program(f"{TAKE}\n{SEND}", load=COPY.format(1)))
    must_add_up(run)
    assert run.statistics["end"]["section"] == "load"
    assert run.statistics["load_cycles"] == run.cycles


def test_a_run_in_which_transfers_meet_under_strict_keeps_what_it_did() -> None:
    run = ended(api.load_program(OVERLAP), CollisionError, "strict")
    must_add_up(run)
    end = run.statistics["end"]
    assert (end["kind"], end["cycle"]) == ("collision", 20)
    assert [finding["cycle"] for finding in run.statistics["findings"]] == [20]


def test_an_error_without_a_run_has_none_and_goes_to_other_processes() -> None:
    assert RunError("no").run is None
    with pytest.raises(HangError) as caught:
        api.simulate(program(WAITS), [], trace=True, rules="observe")
    there = copy.copy(caught.value)  # as it is pickled
    assert (str(there), there.section, there.run) == (str(caught.value), "run", None)


def test_the_path_of_a_run_that_hung_adds_up_to_its_cycles() -> None:
    run = ended(program(WAITS))
    assert run.trace is not None
    path = critical_path(run.statistics, run.trace)
    assert sum(share.cycles for share in shares(run.statistics, path)) == run.cycles


# ---- systolic


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what the checks would refuse."""
    monkeypatch.setattr(systolic, "faults", lambda _program: [])


def systolic_run(kind: type[RunError], *ops: Fill | Sync) -> Run:
    made = Listing()
    for op in ops:
        made.add(op)
    program = SystolicProgram("hangs", topology(), (), made.halt())
    return run_of(lambda: systolic.simulate(program, [], RunOptions(recording=Recording())), kind)


@pytest.mark.usefixtures("unchecked")
def test_a_systolic_run_that_hangs_keeps_what_it_did() -> None:
    waits = Sync(unit=Queue.MATRIX, until=Queue.VECTOR, count=2)
    run = systolic_run(HangError, Fill(destination=Nest(0, 4), value=1), waits)
    must_add_up(run)
    assert run.statistics["end"]["kind"] == "hang"
    assert account(run, "chip.vector")["busy"] == 1
    assert account(run, "chip.matrix")["raw"] > 0


@pytest.mark.usefixtures("unchecked")
def test_a_systolic_run_that_reads_where_nothing_is_keeps_what_it_did() -> None:
    run = systolic_run(AccessError, Fill(destination=Nest((1 << 20) - 3, 4), value=1))
    must_add_up(run)
    assert run.statistics["end"]["kind"] == "access"


# ---- commands


@pytest.fixture(scope="module")
def hung(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that hung."""
    folder = tmp_path_factory.mktemp("hung")
    file = folder / "hangs.tasm"
    api.save_program(program(WAITS), file)
    words = ["run", str(file), "--rules", "observe", "--trace", "--out", str(folder / "run")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 3, result.output
    assert "the run program hangs after" in result.stderr
    return folder / "run"


def test_out_keeps_a_run_that_hung_without_outputs(hung: Path) -> None:
    assert {path.name for path in hung.iterdir()} >= {"run.json", "trace.npz", "program.tasm"}
    assert not (hung / "outputs.npz").exists()
    run = load_run(hung)
    assert run.trace is not None
    assert run.statistics["end"]["kind"] == "hang"
    json.loads((hung / "run.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ["report", "trace"])
def test_reports_and_traces_are_made_of_a_run_that_hung(hung: Path, command: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [command, str(hung), "-o", str(tmp_path / "made")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "made").stat().st_size > 1000


def test_a_page_says_first_that_the_run_hung(hung: Path) -> None:
    run = load_run(hung)
    found = verdict(run.statistics, run.path)
    assert found is not None
    end = run.statistics["end"]
    assert found.sentences[0].startswith(
        f"The run hung after {end['cycle']} cycles: copy (wide_to_narrow of tile 0) waits"
    )
    assert found.sentences[1].startswith("Until then: ")
    page = report(run)
    assert page.index('id="findings"') < page.index('id="overview"') < page.index('id="timeline"')


def test_a_comparison_says_which_run_ended_early(hung: Path, tmp_path: Path) -> None:
    api.simulate(program(f"{TAKE}\n{SEND}\n{COPY.format(1)}"), [], rules="observe").save(tmp_path / "whole")
    result = CliRunner().invoke(app, ["compare", str(hung), str(tmp_path / "whole"), "-o", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert "hung after" in result.output
