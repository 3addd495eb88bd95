"""What ``tilesim calibrate`` promises to scripts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

TABLE = """\
model,condition,value,unit,use,source
pocket,,225,us,train,the chip itself
pocket,clock_hz=2 MHz,112.5,us,train,the chip itself
pocket,ring.hop_cycles=9,1,ms,test,nobody
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "points.csv").write_text(TABLE)


def test_a_table_and_nothing_written(tilesim: Any, tmp_path: Path) -> None:
    result = tilesim("calibrate", "points.csv", "-t", "pocket-2x1", "--workers", 1)
    assert result.exit_code == 0, result.stderr
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[0] == "points.csv: 3 points of pocket-2x1"
    assert lines[3:5] == [
        "pocket                        225 us        225   +0.0%  train",
        "pocket  clock_hz=2 MHz      112.5 us      112.5   +0.0%  train",
    ]
    assert [line.split()[:3] for line in lines[-2:]] == [["train", "2", "0.0%"], ["test", "1", "71.9%"]]
    assert [path.name for path in tmp_path.iterdir()] == ["points.csv"]


def test_json_is_that_of_runs_alone(tilesim: Any) -> None:
    found = json.loads(tilesim("calibrate", "points.csv", "-t", "pocket-2x1", "--workers", 1, "--json").stdout)
    assert found["schema"] == "tilesim.calibration/1"
    for point in found["points"]:
        [command] = point["commands"]
        alone = json.loads(tilesim(*shlex.split(command)[1:], "--json").stdout)
        assert point["simulated"] == pytest.approx(alone["latency_us"] / (1000 if point["unit"] == "ms" else 1))


def test_a_fit_is_printed_as_settings_that_do_what_it_says(tilesim: Any, tmp_path: Path) -> None:
    """Points of a chip of which a request takes 60 us."""
    later = TABLE.replace(",225,", ",285,").replace("112.5", "172.5")
    (tmp_path / "points.csv").write_text(later)
    words = ("calibrate", "points.csv", "-t", "pocket-2x1", "--workers", 1)
    result = tilesim(*words, "--set", "host.request_ns=20000", "--fit", "host.request_ns", "-q")
    assert result.exit_code == 0, result.stderr
    last = result.stdout.splitlines()[-1]
    assert last.startswith("--set host.request_ns=")
    again = json.loads(tilesim(*words, *shlex.split(last), "--json").stdout)
    assert abs(again["errors"][0]["worst"]) < 0.01
    assert again["fit"] is None


def test_an_interrupted_one_goes_on_in_its_store(tilesim: Any) -> None:
    words = ("calibrate", "points.csv", "-t", "pocket-2x1", "--workers", 1, "--store", "rows.sqlite")
    first, again = tilesim(*words), tilesim(*words)
    assert first.stdout == again.stdout
    rows = json.loads(tilesim("sweep", "--store", "rows.sqlite", "--json").stdout)
    assert rows["points"]["total"] == 3


@pytest.mark.parametrize(
    ("words", "faults"),
    [
        (
            ("points.csv",),
            [f"points.csv:{n}: condition must have topology=CHIP, or --topology name" for n in (2, 3, 4)],
        ),
        (("none.csv", "-t", "pocket-2x1"), ["none.csv: there is no such file"]),
        (("points.csv", "-t", "pocket-2x1", "--set", "a.b=1"), ["--set a.b: must be a key of pocket-2x1, not 'a.b'"]),
        (
            ("points.csv", "-t", "pocket-2x1", "--fit", "grid.rows"),
            ["--fit grid.rows: must be a rate, a time or a size"],
        ),
        (
            ("points.csv", "-t", "pocket-2x1", "--store", "points.csv"),
            ["points.csv: must be a new file, not one that is"],
        ),
        (("--fit", "clock_hz"), ["--fit must be of one chip: -t coral-usb or coral-pcie chooses its points"]),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_the_command_line(
    tilesim: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], faults: list[str]
) -> None:
    monkeypatch.setattr("tilesim.explore.calibration.cases._networks", lambda *_: {})  # VGG takes seconds to read
    result = tilesim("calibrate", *words, "--workers", 1)
    assert (result.exit_code, result.stdout) == (2, "")
    told = result.stderr.splitlines()
    assert [line.startswith(f"error: {fault}") for line, fault in zip(told, faults, strict=True)] == [True] * len(told)
