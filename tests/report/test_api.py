"""The public calls on runs, as a script or a notebook makes them."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tilesim
from tests.report.exploration.rows import GRIDS, row
from tilesim.explore.rows.store import Store
from tilesim.saving import writing

Runs = tuple[tilesim.Run, tilesim.Run]


@pytest.fixture(scope="module")
def runs() -> Runs:
    """On a chip, and on one of another clock; the first is traced."""
    network, chip = tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1")
    faster = tilesim.load_topology("pocket-2x1", {"name": "fast", "clock_hz": 2 * chip.clock_hz})
    one, other = (tilesim.compile(network, on) for on in (chip, faster))
    return tilesim.simulate(one, trace=True), tilesim.simulate(other)


def test_a_report_of_a_run_is_that_of_its_folder(runs: Runs, tmp_path: Path) -> None:
    runs[0].save(tmp_path / "run")
    tilesim.save_report(runs[0], tmp_path / "one.html")
    tilesim.save_report(f"{tmp_path}/run", tmp_path / "other.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "other.html").read_bytes()
    assert "pocket on pocket-2x1" in (tmp_path / "one.html").read_text(encoding="utf-8")


def test_a_trace_is_written_for_a_viewer(runs: Runs, tmp_path: Path) -> None:
    assert runs[0].trace is not None
    spans = len(runs[0].trace.track)
    assert tilesim.save_trace(runs[0], tmp_path / "trace.json.gz", chrome=True) == spans
    events = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) >= spans
    assert tilesim.save_trace(runs[0], tmp_path / "trace.pftrace") == spans


def test_a_run_without_a_trace_says_how_to_record_one(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(tilesim.InputError, match=r"^the run must have a trace, which simulate\(\.\.\., trace=True\)"):
        tilesim.save_trace(runs[1], tmp_path / "trace")
    runs[1].save(tmp_path)
    for run in (tmp_path, tilesim.load_run(tmp_path)):
        with pytest.raises(tilesim.InputError, match=f"^{tmp_path}: must hold a trace.npz"):
            tilesim.save_trace(run, tmp_path / "trace")


def test_runs_are_compared_by_their_chips_or_by_given_names(runs: Runs, tmp_path: Path) -> None:
    comparison = tilesim.compare(runs)
    assert [run["name"] for run in comparison["runs"]] == ["pocket-2x1", "fast"]
    assert comparison["runs"][1]["speed_up"] == 2
    named = tilesim.compare({"slow": runs[0], "quick": runs[1]})
    assert [run["name"] for run in named["runs"]] == ["slow", "quick"]
    tilesim.save_comparison(named, tmp_path / "page.html")
    assert "quick" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_traced_runs_that_are_compared_are_on_one_timeline(runs: Runs, tmp_path: Path) -> None:
    path, named = tmp_path / "page.html", {"slow": runs[0], "again": runs[0]}
    comparison = tilesim.compare(named)
    for given, there in (((), False), ([runs[0], runs[0]], True), (named, True)):
        tilesim.save_comparison(comparison, path, given)
        assert ('<section id="timeline"' in path.read_text(encoding="utf-8")) == there
    tilesim.save_comparison(tilesim.compare(runs), path, runs)  # of which one was not traced
    assert '<section id="timeline"' not in path.read_text(encoding="utf-8")


def test_a_timeline_is_of_the_runs_that_are_compared(runs: Runs, tmp_path: Path) -> None:
    alone: Any = runs[0]
    comparison = tilesim.compare({"slow": runs[0], "quick": runs[1]})
    other = replace(runs[0], statistics={**runs[0].statistics, "cycles": 9})
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.save_comparison(comparison, tmp_path / "page.html", [other, runs[1]])
    assert list(caught.value.faults) == [
        "the runs must be those of the comparison: slow of 225 cycles on pocket-2x1, not one of 9 on pocket-2x1"
    ]
    with pytest.raises(tilesim.InputError, match=r"^a comparison must be of several runs in a list"):
        tilesim.save_comparison(comparison, tmp_path / "page.html", alone)
    assert not (tmp_path / "page.html").exists()


def test_all_that_is_no_run_is_said_at_once(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.compare([runs[0], tmp_path / "a", tmp_path / "b"])
    assert [fault.partition(": ")[0] for fault in caught.value.faults] == [f"{tmp_path / name}" for name in "ab"]


def test_pictures_are_drawn_of_a_run(runs: Runs, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pictures = tilesim.save_figures(runs[1], tmp_path / "figures")
    assert sorted(pictures) == sorted((tmp_path / "figures").iterdir())


def test_what_cannot_be_written_is_said(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(tilesim.InputError, match="cannot be written there"):
        tilesim.save_report(runs[1], tmp_path / "file" / "page.html")
    with pytest.raises(tilesim.InputError, match=r"file/x: the run cannot be written there: Not a directory"):
        runs[1].save(tmp_path / "file" / "x")
    with pytest.raises(tilesim.InputError, match=r"file/x/y: the trace cannot be written there: Not a directory"):
        tilesim.save_trace(runs[0], tmp_path / "file" / "x" / "y")


def test_pictures_that_cannot_be_written_are_said(runs: Runs, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "file").touch()
    with pytest.raises(tilesim.InputError, match=r"file/x: the pictures cannot be written there: Not a directory"):
        tilesim.save_figures(runs[1], tmp_path / "file" / "x")


@pytest.mark.parametrize("given", ["r1", Path("r1"), 3, None])
def test_a_comparison_is_of_several_runs(given: Any) -> None:
    with pytest.raises(tilesim.InputError, match="a comparison must be of several runs in a list, or by their names"):
        tilesim.compare(given)


def test_what_is_no_run_at_all_is_said_too(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.compare([tmp_path / "r1", 3, runs[0]])  # type: ignore[list-item]
    assert list(caught.value.faults) == [
        f"{tmp_path / 'r1'}: is no folder; give one that `tilesim run MODEL --out DIR` has written",
        "a run must be given as a Run, a SavedRun, or the folder of one, not as 3",
    ]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "a comparison must be what tilesim.compare returns, of schema 'tilesim.comparison/1', not {}"),
        (3, "a comparison must be what tilesim.compare returns, of schema 'tilesim.comparison/1', not 3"),
        ({"schema": "tilesim.comparison/1", "network": 7}, "comparison.network must be a valid string, not 7"),
    ],
)
def test_a_page_is_of_a_comparison(given: Any, fault: str, tmp_path: Path) -> None:
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.save_comparison(given, tmp_path / "page.html")
    assert fault in caught.value.faults
    assert not (tmp_path / "page.html").exists()


def test_a_saved_run_is_short_to_show(runs: Runs, tmp_path: Path) -> None:
    runs[0].save(tmp_path)
    words = "pocket on pocket-2x1: 225 cycles = 225 us, traced"
    assert repr(tilesim.load_run(tmp_path)) == f"<SavedRun in {tmp_path} of {words}>"
    assert repr(runs[0]) == f"<Run of {words}>"


@pytest.mark.parametrize("path", [None, 7, b"x", ["x"]])
def test_a_path_of_another_type_is_refused(runs: Runs, path: Any) -> None:
    comparison, sentence = tilesim.compare(runs), r"^the (path|folder) must be a path or a text, not "
    for call in (
        lambda: tilesim.save_report(runs[0], path),
        lambda: tilesim.save_figures(runs[0], path),
        lambda: tilesim.save_trace(runs[0], path),
        lambda: tilesim.save_comparison(comparison, path),
        lambda: tilesim.load_run(path),
    ):
        with pytest.raises(tilesim.InputError, match=sentence):
            call()


def test_names_that_no_file_can_have_are_refused(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("\0", "long" * 1000):
        for call in (tilesim.save_report, tilesim.save_figures, tilesim.save_trace):
            with pytest.raises(tilesim.InputError):
                call(runs[0], name)
        with pytest.raises(tilesim.InputError, match="is no folder; give one that"):
            tilesim.load_run(name)
    assert [*tmp_path.iterdir()] == []


def test_a_flag_is_true_or_false(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(tilesim.InputError, match=r"^the chrome must be a bool, not "):
        tilesim.save_trace(runs[0], tmp_path / "trace", chrome="no")  # type: ignore[arg-type]


def test_a_pipe_is_not_replaced(runs: Runs, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for call in (tilesim.save_report, tilesim.save_figures, tilesim.save_trace):
        with pytest.raises(tilesim.InputError, match="pipe: must be a file to write, not a pipe"):
            call(runs[0], tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_what_is_in_dev_is_a_device() -> None:
    with (
        pytest.raises(tilesim.InputError, match="must be a file to write, not a device"),
        writing(Path("/dev/x"), "page"),
    ):
        pytest.fail("it must not begin")


def test_the_page_of_a_sweep_is_made_of_a_store_or_of_its_rows(tmp_path: Path) -> None:
    rows = sorted((row("net", grid) for grid in GRIDS[:3]), key=lambda one: one["key"])
    with Store(tmp_path / "sweep.sqlite") as store:
        for each in rows:
            store.add(each, 0.1)
    tilesim.save_sweep_report(tmp_path / "sweep.sqlite", tmp_path / "one.html")
    tilesim.save_sweep_report(tuple(rows), tmp_path / "other.html")
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "other.html").read_text(encoding="utf-8")
    assert "<title>Sweep of net</title>" in page


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([{**row(), "status": "odd"}], "rows[0].status must be 'ran', 'refused' or 'failed', not \"odd\""),
        (7, "rows must be a valid list, not 7"),
        ([{"tiles": 4}] * 90, "rows[1].chip is missing"),
    ],
)
def test_what_are_no_rows_of_a_sweep_makes_no_page(rows: Any, fault: str, tmp_path: Path) -> None:
    with pytest.raises(tilesim.InputError) as caught:
        tilesim.save_sweep_report(rows, tmp_path / "page.html")
    assert fault in caught.value.faults
    assert len(caught.value.faults) <= 20
    assert not any(tmp_path.iterdir())
