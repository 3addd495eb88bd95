"""``--quiet``: results and errors only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim

POCKET = ("pocket", "-t", "pocket-2x1")


def test_no_notes(tilesim: Tilesim, tmp_path: Path) -> None:
    words = ("run", *POCKET, "--trace", "--partition", "2=channel", "--out", tmp_path / "out")
    said, quiet = tilesim(*words).stdout, tilesim(*words, "--quiet").stdout
    assert "could not be spread by channel" in said
    assert "written to" in said
    assert set(said.splitlines()) > set(quiet.splitlines())
    assert "output probabilities" in quiet
    assert "written to" not in quiet
    assert "could not" not in quiet


@pytest.mark.parametrize(
    "words", [("compile", *POCKET, "-o", "p.tasm"), ("report", "out"), ("trace", "out", "-o", "t.json", "--chrome")]
)
def test_commands_that_only_write_say_nothing(
    tilesim: Tilesim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tilesim("run", *POCKET, "--trace", "--out", "out", "-q").exit_code == 0
    result = tilesim(*words, "-q")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert tilesim(*words).stdout != ""


def test_errors_are_told(tilesim: Tilesim) -> None:
    assert tilesim("run", "dgits", "-q").stderr == "error: dgits: there is no such workload; did you mean digits?\n"
