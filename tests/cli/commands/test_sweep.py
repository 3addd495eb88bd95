"""``tilesim sweep``: from the words to tables, rows, and a store that goes on."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim
from tests.cli.test_process import heed_interrupts
from tilesim.shipped import shipped

GRIDS = ("pocket", "-t", "pocket-2x1", "--vary", "grid=1x1,2x1", "--vary", "tile.lanes=3..4", "--workers", "1")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "rows.sqlite"


def test_tables_then_the_same_from_the_store(tilesim: Tilesim, store: Path) -> None:
    first = tilesim("sweep", *GRIDS, "--store", store)
    assert (first.exit_code, first.stderr) == (0, "")
    lines = first.stdout.splitlines()
    assert lines[0] == "4 points: 2 ran, 2 refused"
    assert lines[2] == "Points with the least latency_us"
    assert lines[5].split()[:3] == ["2", "2", "225"]
    assert "2 points refused: " in first.stdout
    assert "The knee of pocket " in first.stdout or "pocket has no knee up to 2 tiles" in first.stdout
    assert lines[-1] == f"4 rows are in {store}; `tilesim sweep report {store}` makes their page"
    again = tilesim("sweep", *GRIDS, "--store", store)
    assert again.stdout.splitlines()[0] == "4 points: 2 ran, 2 refused; 4 had a row already"
    assert tilesim("sweep", "--store", store).stdout == first.stdout
    quiet = tilesim("sweep", "--store", store, "-q").stdout
    assert first.stdout.startswith(quiet)


def test_exports_are_sorted_and_the_same_each_time(tilesim: Tilesim, store: Path) -> None:
    exported = tilesim("sweep", *GRIDS, "--store", store, "--export", "csv").stdout
    rows = [*csv.DictReader(exported.splitlines())]
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    assert sorted((row["grid.rows"], row["status"], row["cycles"]) for row in rows) == [
        ("1", "ran", "287"),
        ("1", "refused", ""),
        ("2", "ran", "225"),
        ("2", "refused", ""),
    ]
    assert tilesim("sweep", "--store", store, "--export", "csv").stdout == exported
    assert tilesim("sweep", *GRIDS, "--export", "csv").stdout == exported
    timed = tilesim("sweep", "--store", store, "--export", "csv", "--times").stdout
    assert timed.splitlines()[0] == f"{exported.splitlines()[0]},seconds"
    assert len(json.loads(tilesim("sweep", "--store", store, "--export", "json", "--where", "cycles > 0").stdout)) == 2


def test_json_has_counts_best_and_rows(tilesim: Tilesim) -> None:
    words = ("--json", "--maximise", "cycles", "--where", "grid.rows * tile.lanes >= 4", "--where", "cycles < 300")
    document = json.loads(tilesim("sweep", *GRIDS, *words).stdout)
    assert document["points"] == {"total": 3, "found": 0, "ran": 2, "refused": 1, "failed": 0}
    assert (document["schema"], document["store"]) == ("tilesim.sweep/1", None)
    assert document["objectives"] == [{"measure": "cycles", "maximise": True}]
    assert [row["cycles"] for row in document["best"]] == [287, 225]
    assert len(document["rows"]) == 2


def test_a_file_says_what_to_sweep(tilesim: Tilesim, tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "models: pocket\nchips: pocket-2x1\nvary: {grid: [1x1, 2x1], tile.lanes: 3..4}\nmaximise: energy_pj\n"
    )
    said = tilesim("sweep", file, "--workers", 1, "--where", "tile.lanes == 4")
    assert said.stdout.splitlines()[:3] == ["2 points: 2 ran", "", "Points with the largest energy_pj"]
    assert "the rows are not kept; --store FILE keeps them" in said.stdout
    refused = tilesim("sweep", file, "digits", "-t", "edge-2x2", "--vary", "cache=on")
    assert [line.rpartition("that ")[2] for line in refused.stderr.splitlines()] == [
        "--topology must be left out",
        "--vary must be left out",
        "digits must be left out",
    ]
    file.write_text("models: pocket\nchip: pocket-2x1\n")
    assert f"{file}:2:1: unknown key 'chip'; did you mean 'chips'?" in tilesim("sweep", file).stderr


def test_a_search_runs_some_points(tilesim: Tilesim, store: Path) -> None:
    words = ("pocket", "-t", "pocket-2x1", "--vary", "host.latency_cycles=0..200", "--store", store, "--workers", 1)
    said = tilesim("sweep", *words, "--search", 8, "--minimise", "energy_pj", "--minimise", "cycles")
    assert said.stdout.startswith(
        "8 points: 8 ran\n\nPareto front: points with the least energy_pj and the least cycles"
    )
    on = tilesim("sweep", *words, "--search", 12, "--minimise", "energy_pj", "--minimise", "cycles")
    assert on.stdout.startswith("12 points: 12 ran; 8 had a row already\n")
    nothing = tilesim("sweep", "--store", store, "--search", 8)
    assert nothing.stderr == "error: --search must have a model, a chip, and something that varies\n"


def test_its_page(tilesim: Tilesim, tmp_path: Path, store: Path) -> None:
    page = tmp_path / "page.html"
    said = tilesim("sweep", *GRIDS, "--store", store, "--report", page)
    assert said.stdout.splitlines()[-1] == f"written to {page}"
    assert "pocket" in page.read_text(encoding="utf-8")
    taken = tilesim("sweep", *GRIDS, "--store", store, "--report", store)
    assert (taken.exit_code, taken.stderr) == (2, f"error: {store}: must be a new file, not one that is read\n")


def test_nothing_is_written_onto_what_a_file_names(tilesim: Tilesim, tmp_path: Path) -> None:
    chip, what = tmp_path / "chip.yaml", tmp_path / "what.yaml"
    chip.write_text((shipped("topologies") / "pocket-2x1.yaml").read_text())
    what.write_text(f"models: [pocket]\nchips: ['{chip}']\n")
    before = chip.read_bytes()
    for option in ("--report", "--store"):
        result = tilesim("sweep", what, option, chip)
        assert (result.exit_code, result.stderr) == (2, f"error: {chip}: must be a new file, not one that is read\n")
    assert chip.read_bytes() == before


def test_a_file_without_keys_says_nothing_to_sweep(tilesim: Tilesim, tmp_path: Path) -> None:
    (tmp_path / "what.yaml").write_text("- pocket\n")
    result = tilesim("sweep", tmp_path / "what.yaml")
    assert result.exit_code == 2
    assert "what.yaml" in result.stderr
    assert "must have a chip" not in result.stderr


def test_all_that_is_wrong_is_told_at_once(tilesim: Tilesim) -> None:
    words = (
        "--vary",
        "tile.lane=3",
        "--vary",
        "grid",
        "--vary",
        "cache=maybe",
        "--where",
        "1 +",
        "--set",
        "tile.lan=2",
    )
    more = ("--minimise", "latency", "--export", "xml", "--json", "--where", "grid.row < 3")
    result = tilesim("sweep", "pocket", "-t", "pocket-2x1", *words, *more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.partition(": ")[2][:30].partition(":")[0] for line in result.stderr.splitlines()] == [
        "--minimise must be a measure t",
        "--export must be csv or json, ",
        "--where '1 +', character 4",
        "--vary grid",
        "--vary cache",
        "--vary tile.lane",
        "--set tile.lan",
        "--where 'grid.row < 3'",
        "--json must be without --expor",
    ]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), "a model must be given, or --store with a store, of which the rows are shown"),
        (("pocket",), "a sweep must have a chip"),
        (("nothing.yaml",), "nothing.yaml: there is no such file"),
        (("-t", "pocket-2x1"), "a sweep must have a model"),
        (("nothing.tflite", "-t", "pocket-2x1"), "nothing.tflite: there is no such file"),
        (("pocket", "-t", "pocket-2x1", "--workers", "0"), "--workers must be a whole number from 1 to 1,024, not '0'"),
        (("pocket", "-t", "pocket-2x1", "--memory", "1 MiB"), "--memory must be at least 128 MiB, not '1 MiB'"),
        (("pocket", "-t", "pocket-2x1", "--memory", "lots"), "--memory must be a size such as"),
        (("pocket", "-t", "pocket-2x1", "--scheduler", "x", "--workers", "2"), "--scheduler must be without --workers"),
        (("pocket", "-t", "pocket-2x1", "--times"), "--times must have --export csv or --export json beside it"),
        (
            ("pocket", "-t", "pocket-2x1", "--search", "-1"),
            "--search must be a whole number from 1 to 1,000,000, not '-1'",
        ),
        (("pocket", "-t", "pocket-2x1", "--seed", "3"), "--seed must have --search beside it"),
        (("--store", "none.sqlite"), "none.sqlite: there is no such file"),
        (
            ("pocket", "-t", "pocket-2x1", "--minimise", "cycles", "--maximise", "cycles"),
            "--maximise cycles: must be left out, as it is to be minimised",
        ),
        (
            ("pocket", "-t", "edge-2x2", "--vary", "grid=1..3"),
            "--vary grid: a grid must be ROWSxCOLUMNS, such as 2x4, or a series such as squares:1..8, not '1..3'",
        ),
    ],
)
def test_wrong_words(tilesim: Tilesim, words: tuple[str, ...], fault: str) -> None:
    result = tilesim("sweep", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {fault}")
    assert result.stderr.count("\n") == 1


def test_too_many_points_are_refused(tilesim: Tilesim) -> None:
    axes = ("--vary", "host.latency_cycles=1..5000", "--vary", "host.bytes_per_cycle=1..500")
    result = tilesim("sweep", "pocket", "-t", "pocket-2x1", *axes)
    product = "1 model x 1 chip x host.latency_cycles 5,000 x host.bytes_per_cycle 500 = 2,500,000"
    assert result.stderr == f"error: a sweep must have at most 1,000,000 points, not {product}\n"


def test_what_is_no_store_is_left_as_it_is(tilesim: Tilesim, store: Path) -> None:
    store.write_text("mine")
    result = tilesim("sweep", *GRIDS, "--store", store)
    assert (result.exit_code, store.read_text()) == (2, "mine")
    assert result.stderr == f"error: {store}: must be a store of tilesim sweep, or no file yet\n"


def test_an_interrupted_sweep_goes_on(tilesim: Tilesim, store: Path) -> None:
    words = ["sweep", "digits", "-t", "edge-1x1", "--vary", "host.latency_cycles=1..400", "--workers", "1"]
    command = [sys.executable, "-m", "tilesim", *words, "--store", str(store)]
    going = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 -- the tests start no threads that could hold a lock
    )
    deadline = time.monotonic() + 60
    while rows_in(store) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(going.pid, signal.SIGINT)
    stdout, stderr = going.communicate(timeout=60)
    assert (going.returncode, stdout) == (130, "")
    done = rows_in(store)
    assert 3 <= done < 400
    [line] = stderr.splitlines()
    assert line.endswith(f" of 400 points are in {store}; the same command goes on")
    left = tilesim(*words[:-3], f"host.latency_cycles=1..{done}", "--workers", "1", "--store", store)
    assert "had a row already" in left.stdout.splitlines()[0]


def rows_in(store: Path) -> int:
    import sqlite3

    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
            [(count,)] = database.execute("SELECT count(*) FROM runs")
    except sqlite3.OperationalError:
        return 0
    return int(count)


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (["--where", "tile.lanes > 99"], ["--where must hold for a point, but 'tile.lanes > 99' holds for none of 1"]),
        (
            ["--scheduler", "inproc://a"],
            ["--scheduler must be an address such as tcp://host:8786, or a file, not 'inproc://a'"],
        ),
        (["--scheduler", ""], ["--scheduler must be an address such as tcp://host:8786, or a file, not nothing"]),
    ],
)
def test_nothing_can_come_of_it(tilesim: Tilesim, words: list[str], sentences: list[str]) -> None:
    result = tilesim("sweep", "pocket", "-t", "pocket-2x1", *words)
    assert (result.exit_code, result.stderr.splitlines()) == (2, [f"error: {sentence}" for sentence in sentences])


def test_models_and_chips_are_told_at_once(tilesim: Tilesim) -> None:
    result = tilesim("sweep", "packet", "-t", "packet-2x1")
    assert result.exit_code == 2
    assert ["packet-2x1" in line for line in result.stderr.splitlines()] == [True, False]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (
            ("--where", "bytes.foo > 1"),
            "--where 'bytes.foo > 1': bytes.foo must be a key, an option or a measure, not ",
        ),
        (
            ("--minimise", "bytes.rong"),
            "--minimise must be a measure that is a number, not 'bytes.rong'; did you mean ",
        ),
        (("--search", "2", "--maximise", "breakdown.port", "--minimise", "bytes.x"), "--minimise must be a measure "),
    ],
)
def test_a_part_that_no_run_has_is_refused_before_the_first_point(
    tilesim: Tilesim, store: Path, words: tuple[str, ...], fault: str
) -> None:
    refused = tilesim("sweep", *GRIDS, "--store", store, *words)
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"error: {fault}")
    assert len(refused.stderr.splitlines()) == 1
    assert not store.exists()


def test_a_part_that_no_run_has_is_refused_in_a_file_and_of_a_store(
    tilesim: Tilesim, tmp_path: Path, store: Path
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text("models: pocket\nchips: pocket-2x1\nminimise: [cycles, bytes.x]\nwhere:\n- bytes.foo > 1\n")
    refused = tilesim("sweep", file, "--store", store)
    assert [line.partition(" must be ")[0] for line in refused.stderr.splitlines()] == [
        f"error: {file}:3:20: minimise.1",
        f"error: {file}:5:3: where.0 'bytes.foo > 1': bytes.foo",
    ]
    assert not store.exists()
    assert tilesim("sweep", *GRIDS, "--store", store, "-q").exit_code == 0
    objective = tilesim("sweep", "--store", store, "--minimise", "bytes.rong")
    assert (objective.exit_code, objective.stderr.rpartition("; ")[2]) == (2, "did you mean 'bytes.ring'?\n")
    for words in (("sweep", "--store", store), ("sweep", "report", store)):
        assert tilesim(*words, "--where", "bytes.rong > 3").stderr.endswith("; did you mean 'bytes.ring'?\n")


LONG = 5000 * "x"


@pytest.mark.parametrize("option", ["--set", "--vary", "--where", "--minimise"])
@pytest.mark.parametrize("word", [LONG, f"{LONG}=3", f"tile.lanes={LONG}", f"name={LONG}", f"{LONG} > 3"])
def test_long_words_are_cut(tilesim: Tilesim, option: str, word: str) -> None:
    result = tilesim("sweep", *GRIDS[:3], "--workers", "1", "--quiet", option, word)
    assert len(result.stdout) + len(result.stderr) < 700
    assert LONG[:40] in result.stdout + result.stderr or "x..." in result.stdout + result.stderr


def test_settings_that_can_not_be_are_told_in_the_words_of_the_command(tilesim: Tilesim) -> None:
    words = ("--set", "tile.inputs_per_cycle=3", "--vary", "tile.lanes=48", "--export", "json")
    [row] = json.loads(tilesim("sweep", *GRIDS[:3], "--workers", "1", *words).stdout)
    assert row["reason"].splitlines() == [
        "--set tile.inputs_per_cycle=3: tile.inputs_per_cycle must be a power of two, not 3",
        "--set tile.lanes=48: tile.lanes must be a power of two, not 48",
    ]
    assert "--set tile.lanes=48" in row["command"]
