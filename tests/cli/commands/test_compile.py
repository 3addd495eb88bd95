"""What ``tilesim compile`` promises of a program's two forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CHIP = ("--topology", "edge-1x1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_binary_program_is_one_file_that_runs_like_its_model(tilesim: Any) -> None:
    compiled = tilesim("compile", "digits", *CHIP, "-o", "d.tbin")
    assert (compiled.exit_code, compiled.stdout) == (0, "d.tbin: 30 instructions, 65 KiB of data\n")
    assert [path.name for path in Path().iterdir()] == ["d.tbin"]
    assert tilesim("run", "d.tbin", "--json", "--trace").stdout == (
        tilesim("run", "digits", *CHIP, "--json", "--trace").stdout
    )


@pytest.mark.parametrize("chip", ["edge-1x1", "systolic-32"])
def test_a_program_is_turned_into_its_other_form_and_back(tilesim: Any, chip: str) -> None:
    tilesim("compile", "digits", "--topology", chip, "-o", "a.tasm")
    assert tilesim("compile", "a.tasm", "-o", "b.tbin").exit_code == 0
    assert tilesim("compile", "b.tbin", "--topology", chip, "-o", "c.tasm").exit_code == 0
    for suffix in (".tasm", ".npz"):
        assert Path(f"c{suffix}").read_bytes() == Path(f"a{suffix}").read_bytes()
    tilesim("compile", "c.tasm", "-o", "d.tbin")
    assert Path("d.tbin").read_bytes() == Path("b.tbin").read_bytes()
    assert tilesim("run", "d.tbin", "--json").stdout == tilesim("run", "a.tasm", "--json").stdout


def test_a_program_keeps_its_chip(tilesim: Any) -> None:
    tilesim("compile", "digits", *CHIP, "-o", "p.tbin")
    other = tilesim("compile", "p.tbin", "--topology", "edge-1x2", "-o", "q.tasm")
    assert (other.exit_code, "p.tbin: the program is compiled for another chip" in other.stderr) == (2, True)
    changed = tilesim("compile", "p.tbin", "--set", "grid.rows=2", "-o", "q.tasm")
    assert (changed.exit_code, "--set cannot change the chip" in changed.stderr) == (2, True)
    assert not Path("q.tasm").exists()


def test_a_model_needs_a_chip(tilesim: Any) -> None:
    result = tilesim("compile", "digits", "-o", "p.tbin")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: --topology must name a chip; ")


@pytest.mark.parametrize("words", [("run", "p.tbin"), ("compile", "p.tbin", "-o", "p.tasm")])
@pytest.mark.parametrize("kept", [0, 3, 40, 5000, -1])
def test_a_cut_program_is_refused_in_words(tilesim: Any, words: tuple[str, ...], kept: int) -> None:
    tilesim("compile", "digits", *CHIP, "-o", "p.tbin")
    Path("p.tbin").write_bytes(Path("p.tbin").read_bytes()[:kept])
    result = tilesim(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: p.tbin: must ")
    assert not Path("p.tasm").exists()
