"""What ``tilesim sensitivity`` promises to scripts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tilesim.shipped import shipped

POCKET = ("sensitivity", "pocket", "-t", "pocket-2x1")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_table_and_a_page(tilesim: Any, tmp_path: Path) -> None:
    words = (*POCKET, "--keys", "host.*", "--keys", "ring.no_consumer", "--all", "--store", "rows.sqlite")
    result = tilesim(*words, "--workers", 1)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "pocket on pocket-2x1: 8 steps of 10 keys, 5 with an effect, 1 step refused"
    assert lines[2] == "that is: tilesim run pocket -t pocket-2x1"
    assert {"host.bytes_per_cycle", "ring.no_consumer=circulate"} < {line.partition(" ")[0] for line in lines}
    assert lines[-1] == "written to sensitivity.html"
    assert sorted(path.name for path in tmp_path.glob("[a-z]*l*")) == ["rows.sqlite", "sensitivity.html"]
    quiet = tilesim(*words, "-q", "-o", "other.html")
    assert quiet.stdout.splitlines() == lines[:-2]
    assert (tmp_path / "other.html").read_bytes() == (tmp_path / "sensitivity.html").read_bytes()


def test_json_is_that_of_runs_alone(tilesim: Any, tmp_path: Path) -> None:
    found = json.loads(tilesim(*POCKET, "--set", "clock_hz=1 MHz", "--keys", "host.latency*", "--json").stdout)
    assert not [*tmp_path.iterdir()]
    assert [key["key"] for key in found["keys"]] == ["host.latency_cycles"]
    for run in (found["base"], *found["steps"]):
        alone = json.loads(tilesim(*shell(run["command"]), "--json").stdout)
        assert (run["cycles"], run["time_us"]) == (alone["cycles"], alone["cycles"])
        assert run["energy_pj"] == alone["energy"]["total_pj"]


def test_the_base_is_compiled_as_asked_for(tilesim: Any) -> None:
    words = (*POCKET, "--partition", "channel", "--no-cache", "--keys", "host.latency*", "--keys", "cache", "--json")
    found = json.loads(tilesim(*words).stdout)
    assert found["base"]["command"] == "tilesim run pocket -t pocket-2x1 --partition channel --no-cache"
    assert {step["key"]: "--no-cache" in step["command"] for step in found["steps"]} == {
        "host.latency_cycles": True,
        "cache": False,
    }
    for run in (found["base"], *found["steps"]):
        assert run["cycles"] == json.loads(tilesim(*shell(run["command"]), "--json").stdout)["cycles"]


def shell(command: str) -> list[str]:
    """The words of a command, without the program."""
    return shlex.split(command)[1:]


def test_pictures(tilesim: Any, tmp_path: Path) -> None:
    result = tilesim(*POCKET, "--keys", "host.l*", "--png-dir", "pictures", "--json")
    assert result.exit_code == 0
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["sensitivity.png", "sensitivity.svg"]


def test_every_fault_is_told_and_nothing_is_written(tilesim: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = tilesim(*POCKET[:3], "pocket-3", "--set", "x", "-o", tmp_path, "--png-dir", "file", "-n", "0")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "error: --set x: must be KEY=VALUE, such as grid.rows=2",
        f"error: {tmp_path}: must be a file to write, not a folder",
        "error: file: must be a folder, or not be there yet",
        "error: --inferences must be from 1 to 1,000, not 0",
        *(line for line in result.stderr.splitlines() if line.startswith("error: pocket-3: there is no such topology")),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--keys", "hots.*"), "--keys hots.*: must be a key of the chip or an option, or a pattern such as tile.*"),
        (("--keys", "a", "--keys", "a"), "--keys a must be given once, not 2 times"),
        (("--set", "tile.lane=4"), "--set tile.lane=4: unknown key 'tile.lane'; did you mean 'tile.lanes'?"),
        (("--workers", "0"), "--workers must be a whole number from 1 to"),
        (
            ("--partition", "chanel"),
            "--partition must be a choice for all layers, not 'chanel'; did you mean 'channel'?",
        ),
        (("--partition", "auto", "--partition", "channel"), "--partition must be one choice for all layers, not 2"),
        (("--batch-schedule", "lmc"), "--batch-schedule must be "),
        (("--batch-schedule", "lcm"), "must be a chip whose machine can run batches"),
        (("--store", "."), "must be a file to write, not a folder"),
        (("--set", "narrow_memory.size_bytes=64"), "must fit the narrow memory"),
    ],
)
def test_a_base_or_a_key_that_can_not_be(tilesim: Any, tmp_path: Path, words: tuple[str, ...], fault: str) -> None:
    result = tilesim(*POCKET, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr
    assert not [*tmp_path.iterdir()]


def test_the_page_is_not_written_onto_the_chip(tilesim: Any, tmp_path: Path) -> None:
    chip = tmp_path / "chip.yaml"
    chip.write_text(before := (shipped("topologies") / "pocket-2x1.yaml").read_text())
    for option in ("-o", "--store"):
        result = tilesim("sensitivity", "pocket", "-t", chip, "--keys", "host.*", option, chip)
        assert (result.exit_code, result.stderr) == (2, f"error: {chip}: must be a new file, not one that is read\n")
    assert chip.read_text() == before


def test_no_program_is_stepped(tilesim: Any) -> None:
    result = tilesim("sensitivity", "a.tasm", "-t", "pocket-2x1")
    assert result.exit_code == 2
    assert "a.tasm: must end in" in result.stderr
