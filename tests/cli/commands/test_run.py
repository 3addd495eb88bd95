"""What ``tilesim run`` and ``tilesim compile`` promise to scripts."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim as api
from tilesim.cli.commands import run
from tilesim.shipped import shipped
from tilesim.statistics import SCHEMA

DIGITS = ("run", "digits", "--topology", "edge-1x1")
KEYS = {
    *("schema", "cycles", "load_cycles", "clock_hz", "latency_us", "macs", "mac_utilisation", "units", "layers"),
    *("links", "findings", "inferences", "trace_sha256", "bytes", "bound_by", "breakdown"),
    *("requests", "interval_cycles", "throughput_per_second"),
}


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """One held-out digit, among arrays that are no inputs."""
    held_out = np.load(shipped("workloads") / "digits.npz")
    np.savez(tmp_path / "image.npz", in0=held_out["in0"][:1], out0=held_out["out0"][:1], note=np.array("a digit"))
    return tmp_path / "image.npz"


def test_a_folder_of_results(tilesim: Any, tmp_path: Path, image: Path) -> None:
    result = tilesim(*DIGITS, "--inputs", image, "--out", tmp_path / "a" / "b", "--trace")
    assert result.exit_code == 0, result.stderr
    out = tmp_path / "a" / "b"
    names = ["outputs.npz", "program.npz", "program.tasm", "run.json", "trace.npz"]
    assert sorted(path.name for path in out.iterdir()) == names
    np.testing.assert_array_equal(np.load(out / "outputs.npz")["out0"], np.load(image)["out0"])
    document = json.loads((out / "run.json").read_text())
    assert document["schema"] == SCHEMA == "tilesim.run/1"
    assert document.keys() >= KEYS
    assert len(document["trace_sha256"]) == 64
    assert str(tmp_path) not in (out / "run.json").read_text()


def test_an_existing_folder_is_reused(tilesim: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    tilesim(*DIGITS, "--out", tmp_path, "--trace")
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    tilesim(*DIGITS, "--out", tmp_path, "--trace")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    tilesim(*DIGITS, "--out", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == first.keys() - {"trace.npz"}


def test_json_stands_alone_and_nothing_is_written(
    tilesim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = tilesim(*DIGITS, "--json", "--set", "grid=1x2")
    document = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert sum(unit["track"].endswith("mac_array") for unit in document["units"]) == 2
    for unit in document["units"]:
        assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == document["cycles"]
    assert list(tmp_path.iterdir()) == []


def test_several_samples_and_npy(tilesim: Any, tmp_path: Path) -> None:
    held_out = np.load(shipped("workloads") / "digits.npz")
    np.save(tmp_path / "images.npy", held_out["in0"][:5])
    result = tilesim(*DIGITS, "--inputs", tmp_path / "images.npy", "--out", tmp_path)
    assert result.stdout.startswith("digits on edge-1x1, 5 samples together\n")
    np.testing.assert_array_equal(np.load(tmp_path / "outputs.npz")["out0"], held_out["out0"][:5])


def test_a_compiled_program_runs_like_its_model(tilesim: Any, tmp_path: Path, image: Path) -> None:
    program = tmp_path / "p.tasm"
    compiled = tilesim("compile", "digits", "--topology", "edge-1x1", "--set", "host.latency_cycles=9", "-o", program)
    assert (compiled.exit_code, compiled.stdout.split(":")[0]) == (0, str(program))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image.npz", "p.npz", "p.tasm"]
    again = tilesim("run", program, "--inputs", image, "--json", "--trace").stdout
    assert again == tilesim(*DIGITS, "--set", "host.latency_cycles=9", "--inputs", image, "--json", "--trace").stdout


def test_the_chip_of_a_program_may_be_named_again(tilesim: Any, tmp_path: Path) -> None:
    tilesim("compile", "example-residual", "--topology", "edge-1x1", "-o", tmp_path / "p.tasm")
    assert tilesim("run", tmp_path / "p.tasm", "--topology", "edge-1x1").exit_code == 0
    other = tilesim("run", tmp_path / "p.tasm", "--topology", "edge-1x1", "--set", "grid.columns=2")
    assert other.exit_code == 2
    assert "compiled for another chip than --topology gives (grid.columns: 1, not 2); leave" in other.stderr
    pocket = tilesim("run", tmp_path / "p.tasm", "--topology", "pocket-2x1").stderr
    assert "instruction_bus.buffer_depth: 8, not 4; and 8 more)" in pocket
    changed = tilesim("run", tmp_path / "p.tasm", "--set", "grid.columns=2")
    assert changed.exit_code == 2
    assert "--set cannot change the chip of a program; change its .chip lines, or" in changed.stderr


def test_a_summary_for_people(tilesim: Any) -> None:
    text = tilesim(*DIGITS, "--set", "grid.rows=9").stdout
    run = api.simulate(
        api.compile(api.load_network("digits"), api.load_topology("edge-1x1", {"grid.rows": 9})),
        [np.zeros((1, 1, 8, 8), np.float32)],
    )
    assert f"{run.cycles:,} cycles" in text
    assert text.startswith("digits on edge-1x1 with grid.rows=9, one inference\n")
    assert "8 of 9 compute" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_every_shipped_workload_runs(tilesim: Any) -> None:
    listed = [line.split()[0] for line in tilesim("workloads").stdout.splitlines() if line[:1].strip()][1:]
    assert tuple(listed) == api.list_workloads() == ("batching", "digits", "example-conv", "example-residual", "pocket")
    assert [tilesim("run", name, "--topology", "edge-1x1").exit_code for name in listed] == [0] * 5


def test_topologies_are_listed(tilesim: Any) -> None:
    text = tilesim("topologies").stdout
    assert all(f"\n{name} " in text for name in api.list_topologies())
    assert {"edge-1x1", "edge-1x2", "edge-2x2", "edge-2x4", "edge-4x4", "edge-8x8", "fig2-5x2", "pocket-2x1"} <= {
        *api.list_topologies()
    }


def test_every_key_of_a_chip_is_shown(tilesim: Any) -> None:
    lines = tilesim("topologies", "pocket-2x1").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    [chip] = [each for each in json.loads(tilesim("topologies", "--json").stdout) if each["name"] == "pocket-2x1"]
    shown = json.loads(tilesim("topologies", "pocket-2x1", "--json").stdout)
    assert [each["key"] for each in shown] == [line.split()[0] for line in lines[1:] if line[:1] != " "]
    for each in shown:
        *sections, key = each["key"].split(".")
        assert each["value"] == (chip[sections[0]] if sections else chip)[key]


def test_the_version(tilesim: Any) -> None:
    result = tilesim("--version")
    assert (result.exit_code, result.stdout.split()[0], result.stderr) == (0, "tilesim", "")


@pytest.mark.parametrize(
    ("compiler", "said"), [("none", "not there: TILESIM_CC is none"), ("nobody", "not there: TILESIM_CC must be")]
)
def test_the_version_says_which_engines_are_there(
    tilesim: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compiler: str, said: str
) -> None:
    pytest.importorskip("tilesim.tiled.core")
    monkeypatch.setenv("TILESIM_CC", compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert f"\ncompiled engine of tiled chips: {said}" in tilesim("--version").stdout


def test_the_demo_reads_digits(tilesim: Any) -> None:
    result = tilesim("demo")
    assert result.exit_code == 0
    assert "356 of 360 held-out digits are read right" in result.stdout
    assert "3,600 of 3,600 logits equal those of ONNX Runtime bit for bit" in result.stdout


def test_a_trace_that_goes_nowhere_is_summed_up(tilesim: Any) -> None:
    lines = tilesim(*DIGITS, "--trace").stdout.splitlines()
    assert re.fullmatch(r"trace: [0-9,]+ spans, sha256 [0-9a-f]{64}", lines[-1]), lines[-1]


def test_the_later_of_two_overrides_holds(tilesim: Any) -> None:
    chip = json.loads(tilesim(*DIGITS, "--set", "grid=1x2", "--set", "grid.rows=3", "--json").stdout)["chip"]
    assert chip["grid"] == {"rows": 3, "columns": 2}


def test_a_page_of_an_older_run_does_not_stay(tilesim: Any, tmp_path: Path) -> None:
    words = ("run", "pocket", "-t", "pocket-2x1", "--out", tmp_path)
    assert tilesim(*words).exit_code == 0
    assert tilesim("report", tmp_path).exit_code == 0
    (tmp_path / "notes.txt").touch()
    assert tilesim(*words).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "notes.txt", "outputs.npz", "program.npz", "program.tasm", "run.json",
    }  # fmt: skip


def test_the_function_is_short() -> None:
    lines, _ = inspect.getsourcelines(run.command)
    assert len(lines) < 40
