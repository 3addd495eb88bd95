"""The page of a sweep in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import Open
from tests.report.exploration.rows import rows
from tilesim.report.page.explore import exploration_page


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three networks on seven grids with four numbers of lanes."""
    path = tmp_path_factory.mktemp("explore") / "page.html"
    path.write_text(exploration_page(rows(7 * 3 * 4), "three networks"), encoding="utf-8")
    return path


def test_it_says_how_many_points_ran_and_which_are_the_fastest(open_page: Open, path: Path) -> None:
    page = open_page(path)
    assert page.title() == "three networks"
    assert "84" in page.locator("#explore .figures").inner_text()
    assert page.locator("#fastest tbody th").all_inner_texts() == ["tiny", "kws", "vww"]
