"""What ``tilesim masters`` promises: verdicts, a picture, a program that shows the same, sentences for bad input."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tilesim

OVERLAP = """\
tiles: 4
transfers:
  - {name: low, master: 0, to: [1, 2]}
  - {name: high, master: 1, to: 3}
"""


@pytest.fixture
def overlap(tmp_path: Path) -> Path:
    path = tmp_path / "overlap.yaml"
    path.write_text(OVERLAP)
    return path


def test_it_shows_verdicts_and_who_is_where_when(tilesim: Tilesim, overlap: Path) -> None:
    result = tilesim("masters", overlap)
    assert (result.exit_code, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "overlap on ring-4, 2 transfers"
    readings = [line.split()[:2] for line in lines if "refuted" in line and "A B" in line]
    assert readings == [["single", "refuted"], ["disjoint", "refuted"], ["meet,", "which"]]
    [tile_1] = [line for line in lines if line.startswith("tile 1      ")]
    assert re.search("A.*B.*A", tile_1)
    [mark] = [line.index("^") for line in lines if line.strip() == "^"]
    assert tile_1[mark] == "B"


def test_what_is_proven_ends_well(tilesim: Tilesim, overlap: Path) -> None:
    overlap.write_text(OVERLAP.replace("to: 3}", "to: 3, after: low}"))
    result = tilesim("masters", overlap, "--masters", "single")
    assert result.exit_code == 0
    assert "single, which binds  proven" in result.stdout
    assert "\nA run: cycles " in result.stdout


@pytest.mark.parametrize("reading", ["single", "disjoint", "meet"])
def test_the_program_shows_what_was_said(tilesim: Tilesim, overlap: Path, reading: str) -> None:
    tasm = overlap.with_suffix(".tasm")
    result = tilesim("masters", overlap, "--tasm", tasm, "--masters", reading)
    [command] = re.findall(r"to see it run: tilesim (.*)", result.stdout)
    findings = json.loads(tilesim(*shlex.split(command), "--json").stdout)["findings"]
    document = json.loads(tilesim("masters", overlap, "--masters", reading, "--json").stdout)
    breach = document["picture"]["breaches"][0]
    assert (findings[0]["cycle"], findings[0]["stop"]) == (breach["cycle"], breach["stop"])
    assert not tasm.with_suffix(".npz").exists()
    checked = tilesim("check", tasm, "--masters", reading)
    assert checked.exit_code == 1
    assert document["readings"][0]["pairs"][0]["reason"] in tilesim("check", tasm, "--masters", "single").stdout


def test_the_document_holds_everything(tilesim: Tilesim, overlap: Path) -> None:
    document = json.loads(tilesim("masters", overlap, "--json").stdout)
    assert document["schema"] == "tilesim.masters/1"
    assert [each["reading"] for each in document["readings"]] == ["single", "disjoint", "meet"]
    assert {each["verdict"] for each in document["readings"]} == {"refuted"}
    assert len(document["picture"]["passages"]) == 4 * 3 + 4 * 3


def test_a_case_of_the_suite_goes_by_its_name(tilesim: Tilesim) -> None:
    assert tilesim("masters", "pair-adjacent-01").stdout.startswith("pair-adjacent-01 on ring-4, 2 transfers\n")


def test_long_runs_are_folded_to_the_terminal(tilesim: Tilesim, overlap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overlap.write_text(OVERLAP.replace("to: 3}", "to: 3, rows: 90, start: 0}"))
    result = tilesim("masters", overlap)
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert result.stdout.count("\ntile 1      ") == 3
    monkeypatch.setenv("COLUMNS", "200")
    assert tilesim("masters", overlap).stdout.count("\ntile 1      ") == 1 + 1


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_it_draws_a_picture(tilesim: Tilesim, overlap: Path, ending: str) -> None:
    path = overlap.with_suffix(f".{ending}")
    assert tilesim("masters", overlap, "--png", path).exit_code == 1
    assert path.read_bytes().startswith(b"\x89PNG" if ending == "png" else b"<?xml")


def faults(result: Any) -> list[str]:
    assert result.exit_code == 2
    return [line.removeprefix("error: ") for line in result.stderr.splitlines()]


def test_all_faults_are_told_at_once_and_nothing_is_written(tilesim: Tilesim, overlap: Path) -> None:
    overlap.write_text(OVERLAP.replace("to: 3", "to: 9"))
    told = faults(
        tilesim("masters", overlap, "--tasm", overlap.with_suffix(".txt"), "--png", "x.gif", "--masters", "mete")
    )
    assert [fault.replace(f"{overlap.parent}/", "") for fault in told] == [
        "overlap.txt: the file of a program's text must end in .tasm, not in .txt",
        "x.gif: a picture must end in .png or .svg, not in .gif",
        "--masters must be single, disjoint or meet, not 'mete'; did you mean 'meet'?",
        "overlap.yaml:4:33: transfers.1.to.0 must be a tile from 0 to 3 or sink, not 9",
    ]
    assert [path.name for path in overlap.parent.iterdir()] == ["overlap.yaml"]


def test_what_is_read_is_not_written(tilesim: Tilesim, tmp_path: Path) -> None:
    odd = tmp_path / "odd.tasm"
    odd.write_text(OVERLAP)
    assert faults(tilesim("masters", odd, "--tasm", odd)) == [f"{odd}: must be a new file, not one that is read"]


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("", "a case of the suite, or a file with a / or an ending in its name, not nothing"),
        ("pear-01", "a case of the suite, or a file with a / or an ending in its name, not 'pear-01'"),
        ("none.yaml", "none.yaml: there is no such file"),
    ],
)
def test_words_that_name_nothing(tilesim: Tilesim, word: str, fault: str) -> None:
    assert fault in faults(tilesim("masters", word))[0]


def test_a_program_whose_name_begins_like_an_option_is_run_by_the_command(
    tilesim: Tilesim, overlap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(overlap.parent)
    result = tilesim("masters", overlap, "--tasm", "-made.tasm")
    [command] = re.findall(r"to see it run: tilesim (.*)", result.stdout)
    assert tilesim(*shlex.split(command)).exit_code == 0
