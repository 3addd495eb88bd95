"""``tilesim sweep report``: the page of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tilesim
from tests.explore import fakes
from tilesim.explore.rows.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "rows.sqlite"
    with Store(path) as made:
        for number in range(1, 6):
            row = fakes.row(number)
            row["chip"].update({"clock_hz": 500_000_000, "grid.rows": 2, "grid.columns": 2})
            made.add(row, 0.1)
        made.add(fakes.row(6, "refused", "too small"), 0.1)
    return path


def test_the_page_stands_beside_the_store(tilesim: Tilesim, store: Path) -> None:
    result = tilesim("sweep", "report", store)
    page = store.with_suffix(".html")
    assert (result.exit_code, result.stdout) == (0, f"written to {page}\n")
    assert "6 points of net" in page.read_text(encoding="utf-8")
    assert tilesim("sweep", "report", store, "-o", store.parent / "other.html", "-q").stdout == ""
    assert (store.parent / "other.html").read_bytes() == page.read_bytes()


def test_conditions_leave_points_out(tilesim: Tilesim, store: Path) -> None:
    assert tilesim("sweep", "report", store, "--where", "cycles < 3").exit_code == 0
    assert "2 points of net" in store.with_suffix(".html").read_text(encoding="utf-8")
    none = tilesim("sweep", "report", store, "--where", "cycles < 0")
    assert none.stderr == f"error: {store}: must have rows for which --where holds, not none\n"


def test_what_is_wrong(tilesim: Tilesim, store: Path) -> None:
    result = tilesim("sweep", "report", store, "-o", store, "--where", "cycles <")
    assert result.exit_code == 2
    assert [line.partition(": ")[2] for line in result.stderr.splitlines()] == [
        "--where 'cycles <', character 9: must go on with a number, a name, text or a bracket, not end",
        f"{store}: must be a new file, not one that is read",
    ]
    nothing = tilesim("sweep", "report", store.parent / "none.sqlite")
    assert nothing.stderr == f"error: {store.parent / 'none.sqlite'}: there is no such file\n"
    assert tilesim("sweep", "report").exit_code == 2
    assert tilesim("sweep", "report", ".").stderr == "error: .: must be a file, not a folder\n"


def test_a_row_without_its_clock_is_damaged(tilesim: Tilesim, tmp_path: Path) -> None:
    with Store(tmp_path / "rows.sqlite") as made:
        for number in (1, 2):
            made.add(fakes.row(number), 0.1)
    result = tilesim("sweep", "report", tmp_path / "rows.sqlite")
    assert result.exit_code == 2
    assert "is damaged: chip.clock_hz must be a number above zero" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.sqlite"]


def test_what_another_tilesim_made_is_left_out(tilesim: Tilesim, store: Path) -> None:
    with Store(store) as made:
        newer = fakes.row(7)
        newer["chip"].update({"clock_hz": 500_000_000, "grid.rows": 2, "grid.columns": 2})
        made.add({**newer, "sources": "tomorrow's"}, 0.1)
    page, left_out = store.with_suffix(".html"), "left out: 6 rows that another tilesim made"
    assert tilesim("sweep", "report", store).stdout == f"{left_out}\nwritten to {page}\n"
    assert "1 point of net" in page.read_text(encoding="utf-8")
    assert f"\n{left_out}\n1 row is in {store}" in tilesim("sweep", "--store", store).stdout
