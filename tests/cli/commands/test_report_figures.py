"""``tilesim report --png``: pictures beside the page."""

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim
from tilesim.run import PICTURES


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
    assert result.stderr == f"error: {run / 'run.json'}: must be a folder, or not be there yet\n"
    assert not (run / "report.html").exists()


def test_nothing_is_drawn_for_a_page_that_can_not_be_written(tilesim: Tilesim, run: Path, tmp_path: Path) -> None:
    result = tilesim("report", run, "--png-dir", tmp_path / "pictures", "-o", run / "run.json" / "page.html")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {run / 'run.json' / 'page.html'}: the page cannot be written there: ")
    assert not (tmp_path / "pictures").exists()


def test_a_new_run_in_the_folder_takes_page_and_pictures_of_the_old_one_away(tilesim: Tilesim, run: Path) -> None:
    (run / "figures").mkdir()
    for name in ("layers.png", "timeline.svg", "mine.png"):
        (run / "figures" / name).touch()
    assert tilesim("run", "pocket", "--topology", "pocket-2x1", "--out", run).exit_code == 0
    assert [path.name for path in (run / "figures").iterdir()] == ["mine.png"]


def test_pictures_that_are_drawn_are_those_that_a_new_run_takes_away(tilesim: Tilesim, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ("run", "digits", "--topology", "systolic-4", "-n", "2", "--trace", "--out", run)
    assert tilesim(*words).exit_code == 0
    assert tilesim("report", run, "--png").exit_code == 0
    assert {path.stem for path in (run / "figures").iterdir()} == {*PICTURES}


def test_how_pictures_are_drawn_is_said_of_pictures(tilesim: Tilesim, run: Path, tmp_path: Path) -> None:
    result = tilesim("report", run, "--pdf", "--columns", 1)
    said = "--columns and --pdf must be given with {}: no picture is drawn without it"
    assert (result.exit_code, result.stderr) == (2, f"error: {said.format('--png or --png-dir')}\n")
    result = tilesim("compare", run, run, "-o", tmp_path / "page.html", "--columns", 1, "--pdf")
    assert (result.exit_code, result.stderr) == (2, f"error: {said.format('--png-dir')}\n")
    for words in (("sweep", "report", tmp_path / "no.sqlite"), ("sensitivity", "pocket", "-t", "pocket-2x1")):
        result = tilesim(*words, "-o", tmp_path / "page.html", "--pdf", "--columns", 1)
        assert result.exit_code == 2
        assert said.format("--png-dir") in result.stderr
    assert not [*tmp_path.rglob("*.html")]
