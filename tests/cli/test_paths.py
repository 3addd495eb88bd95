"""Files and folders that the command line names: none is empty, and nothing that is read is written over."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Tilesim

DIGITS = ("run", "digits", "-t", "edge-1x1")
NO_NAME = "error: a file or folder must be given by its name, not by empty text\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(tilesim: Tilesim) -> Path:
    """A saved run."""
    assert tilesim(*DIGITS, "--out", "run").exit_code == 0
    return Path("run")


@pytest.mark.parametrize(
    "words",
    [
        (*DIGITS, "--out", ""),
        (*DIGITS, "--inputs", ""),
        (*DIGITS, "--energy", ""),
        ("compile", "digits", "-t", "edge-1x1", "-o", ""),
        ("verify", "digits", "-t", "edge-1x1", "--inputs", ""),
        ("report", ""),
        ("report", "run", "-o", ""),
        ("report", "run", "--png-dir", ""),
        ("trace", "run", "-o", ""),
        ("compare", "run", ""),
        ("compare", "run", "-o", ""),
    ],
)
def test_no_path_is_empty(tilesim: Tilesim, folder: Path, words: tuple[str, ...]) -> None:
    result = tilesim(*words)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", NO_NAME)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(
    "words",
    [
        ("compile", "digits", "-t", "edge-1x1", "-o"),
        (*DIGITS, "--inputs"),
        ("report", "run", "-o"),
        ("trace", "run", "-o"),
    ],
)
def test_a_name_that_ends_as_a_folders_does_is_no_file(tilesim: Tilesim, folder: Path, words: tuple[str, ...]) -> None:
    result = tilesim(*words, "new/file.tasm/")
    sentence = "error: new/file.tasm/: must be a file, not a folder\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", sentence)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("words", [("report", "none"), ("trace", "none"), ("compare", "none")], ids=str)
def test_what_is_wrong_with_the_output_is_told_with_what_is_wrong_with_the_run(
    tilesim: Tilesim, folder: Path, words: tuple[str, ...]
) -> None:
    result = tilesim(*words, "-o", ".")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "error: .: must be a file to write, not a folder",
        "error: none: is no folder; give one that `tilesim run MODEL --out DIR` has written",
    ]
    assert [*folder.iterdir()] == []


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["run.json", "outputs.npz", "trace.npz", "program.tasm", "program.npz"])
def test_no_page_and_no_trace_replaces_a_file_of_the_run(tilesim: Tilesim, run: Path, name: str) -> None:
    before = contents(run)
    for words in (["report", run], ["trace", run], ["compare", run, run]):
        result = tilesim(*words, "-o", run / name)
        sentence = f"error: {run / name}: must be a new file, not one of the run itself\n"
        assert (result.exit_code, result.stderr) == (2, sentence)
    assert contents(run) == before


def test_no_run_replaces_what_it_reads(tilesim: Tilesim, run: Path) -> None:
    np.save("run/outputs.npy", np.zeros((1, 1, 8, 8), np.float32))
    Path("run/outputs.npy").rename("run/outputs.npz")  # whatever it is, it is the user's
    before = contents(run)
    for words, name in (
        (("run", run / "program.tasm"), "program.tasm"),
        ((*DIGITS, "--inputs", run / "outputs.npz"), "outputs.npz"),
        ((*DIGITS, "--energy", Path("run", "..", "run", "run.json")), "run.json"),
    ):
        result = tilesim(*words, "--out", run)
        assert result.exit_code == 2
        assert f"error: {run / name}: must be a new file, not one that is read" in result.stderr.splitlines()
    assert contents(run) == before


def test_no_program_replaces_what_it_is_made_of(tilesim: Tilesim, run: Path) -> None:
    os.link(run / "program.npz", "other.npz")
    before = contents(run)
    for name in ("run/program.tasm", "other.tasm"):
        result = tilesim("compile", run / "program.tasm", "-o", name)
        assert result.exit_code == 2
        assert result.stderr.endswith(": must be a new file, not one that is read\n")
    assert contents(run) == before
    assert tilesim("compile", run / "program.tasm", "-o", run / "program.tbin").exit_code == 0


@pytest.mark.parametrize("target", ["nowhere/deep", "out"])
def test_a_link_that_leads_nowhere_is_no_folder(tilesim: Tilesim, target: str) -> None:
    Path("out").symlink_to(target)
    result = tilesim(*DIGITS, "--out", "out")
    sentence = f"error: out: must be a folder, not a link to {target}, which leads nowhere\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", sentence)


def test_a_link_to_a_folder_is_one(tilesim: Tilesim) -> None:
    Path("real").mkdir()
    Path("out").symlink_to("real")
    assert tilesim(*DIGITS, "--out", "out").exit_code == 0
    assert Path("real", "run.json").is_file()
