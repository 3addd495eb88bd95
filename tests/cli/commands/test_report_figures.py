"""``tilesim report --png``: pictures beside the page."""

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim


@pytest.fixture
def run(tilesim: Tilesim, tmp_path: Path) -> Path:
    assert tilesim("run", "digits", "--topology", "edge-1x1", "--out", tmp_path / "run").exit_code == 0
    return tmp_path / "run"


def test_pictures_lie_beside_the_page(tilesim: Tilesim, run: Path) -> None:
    result = tilesim("report", run, "--png")
    assert result.output == f"6 pictures in {run / 'figures'}\nwritten to {run / 'report.html'}\n"
    made = sorted(path.name for path in (run / "figures").iterdir())
    assert made == [f"{stem}.{ending}" for stem in ("layers", "roofline", "stalls") for ending in ("png", "svg")]


def test_without_matplotlib_nothing_is_written(
    tilesim: Tilesim, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = tilesim("report", run, "--png-dir", tmp_path / "pictures")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: pictures are drawn by matplotlib, which is not installed")
    assert not (tmp_path / "pictures").exists()
    assert not (run / "report.html").exists()


def test_a_file_is_no_folder_for_pictures(tilesim: Tilesim, run: Path) -> None:
    result = tilesim("report", run, "--png-dir", run / "run.json")
    assert result.exit_code == 2
    assert result.stderr == f"error: {run / 'run.json'}: cannot be read or written: File exists\n"
    assert not (run / "report.html").exists()
