"""``tilesim report``: a page, whole or not at all."""

from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim


@pytest.fixture
def run(tilesim: Tilesim, tmp_path: Path) -> Path:
    assert tilesim("run", "digits", "--topology", "edge-1x1", "--out", tmp_path / "run").exit_code == 0
    return tmp_path / "run"


def test_the_page_lies_in_the_folder_of_the_run(tilesim: Tilesim, run: Path) -> None:
    result = tilesim("report", run)
    assert result.output == f"written to {run / 'report.html'}\n"
    text = (run / "report.html").read_text(encoding="utf-8")
    assert "<title>digits on edge-1x1</title>" in text
    assert "tilesim run ... --trace" in text


def test_or_where_one_wants_it(tilesim: Tilesim, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "my.html"
    assert tilesim("report", run, "-o", path).exit_code == 0
    again = path.read_bytes()
    assert tilesim("report", run, "-o", path).exit_code == 0
    assert path.read_bytes() == again
    assert not (run / "report.html").exists()


def test_nothing_is_written_for_a_run_with_faults(tilesim: Tilesim, run: Path) -> None:
    (run / "trace.npz").write_bytes(b"")
    result = tilesim("report", run)
    assert result.exit_code == 2
    assert result.stderr == f"error: {run / 'trace.npz'}: must be an .npz file: File is not a zip file\n"
    assert not (run / "report.html").exists()


def test_a_page_that_can_not_be_written(tilesim: Tilesim, run: Path) -> None:
    (run / "file").touch()
    for path, fault in (
        (run, "must be a file to write, not a folder"),
        (run / "file" / "x.html", "the page cannot be written there: "),
    ):
        result = tilesim("report", run, "-o", path)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: {path}: {fault}")


def test_it_is_shown_if_one_wants(tilesim: Tilesim, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("typer.launch", shown.append)
    assert tilesim("report", run, "--open").exit_code == 0
    assert shown == [str(run / "report.html")]


def test_no_output_replaces_what_the_run_consists_of(tilesim: Tilesim, run: Path) -> None:
    before = (run / "run.json").read_bytes()
    path = run / ".." / "run" / "run.json"
    for words in (["report", run], ["trace", run], ["compare", run, run]):
        result = tilesim(*words, "-o", path)
        assert (result.exit_code, result.stderr) == (
            2,
            f"error: {path}: must be a new file, not one of the run itself\n",
        )
    assert (run / "run.json").read_bytes() == before
