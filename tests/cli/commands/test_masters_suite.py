"""What ``tilesim masters suite`` promises: a list, or everything in files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim

ADJACENT = ["refuted", "proven", "proven"]


def test_it_lists_the_cases(tilesim: Tilesim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    lines = tilesim("masters", "suite").stdout.splitlines()
    assert lines[0].split() == ["case", "transfers", "single", "disjoint", "meet"]
    [adjacent] = [line for line in lines if line.startswith("pair-adjacent-01 ")]
    assert adjacent.split() == ["pair-adjacent-01", "a:", "0->1", "x3;", "b:", "2->3", "x3", *ADJACENT]


def test_it_writes_every_case(tilesim: Tilesim, tmp_path: Path) -> None:
    result = tilesim("masters", "suite", "-o", tmp_path / "suite")
    assert (result.exit_code, result.stderr) == (0, "")
    with (tmp_path / "suite" / "suite.csv").open(newline="") as lines:
        names = [row["case"] for row in csv.DictReader(lines)]
    assert result.stdout == f"{tmp_path}/suite: suite.csv and {len(names)} cases, each as .yaml and .tasm\n"
    assert len([*(tmp_path / "suite").iterdir()]) == 1 + 2 * len(names)
    program = tmp_path / "suite" / "rows-nested-03.tasm"
    assert tilesim("check", program).exit_code == 1
    assert tilesim("masters", program.with_suffix(".yaml")).stdout.startswith("rows-nested-03 on ring-4")


def test_it_tells_verdicts_as_json(tilesim: Tilesim) -> None:
    first = json.loads(tilesim("masters", "suite", "--json").stdout)[0]
    assert set(first) == {"case", "family", "single", "disjoint", "meet"}


def test_a_file_is_no_folder(tilesim: Tilesim, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = tilesim("masters", "suite", "-o", tmp_path / "file")
    assert (result.exit_code, result.stderr) == (2, f"error: {tmp_path}/file: must be a folder, or not be there yet\n")
