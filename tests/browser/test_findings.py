"""The banner of findings in a real browser: what a run noticed or why it ended, with a jump to its cycle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.browser.conftest import Open
from tilesim.cli import app

OVERLAP = "workloads/dual-master/overlap.tasm"


def page_of(folder: Path, *words: str, exit_code: int = 0) -> Path:
    run = CliRunner().invoke(app, ["run", OVERLAP, "--trace", "--out", str(folder), *words])
    assert run.exit_code == exit_code, run.output
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run in which two masters meet, and which goes on."""
    return page_of(tmp_path_factory.mktemp("meeting"), "--rules", "observe")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the same run under the strict rules, which ends there."""
    return page_of(tmp_path_factory.mktemp("stopped"), "--rules", "strict", exit_code=3)


def colours(page: Any, selector: str) -> list[str]:
    return [node.evaluate("(node) => getComputedStyle(node).backgroundColor") for node in page.locator(selector).all()]


def test_a_meeting_is_on_the_first_screen_in_both_masters_colours(open_page: Open, meeting: Path) -> None:
    page: Any = open_page(meeting)
    box = page.locator("#findings").bounding_box()
    assert box["y"] < page.locator("#overview").bounding_box()["y"]
    assert box["y"] + box["height"] < 900
    assert "1 meeting of two transfers" in page.locator("#findings").text_content()
    own = colours(page, "#findings li .swatch")
    assert len(set(own)) == 2
    assert own == colours(page, "#contention .findings li .swatch")


def test_its_button_jumps_to_its_cycle_and_a_masters_track(open_page: Open, meeting: Path) -> None:
    page: Any = open_page(meeting)
    page.evaluate(
        "window.heard = {};"
        "for (const name of ['window', 'track', 'cursor']) tilesim.on(name, (detail) => (heard[name] = detail))"
    )
    page.get_by_role("button", name="Show cycle 20").click()
    heard = page.evaluate("heard")
    assert heard["window"]["from"] <= 20 < heard["window"]["to"]
    assert heard["cursor"] == {"cycle": 20}
    assert heard["track"]["name"] == "chip.tile1.ring_producer"


def test_a_run_that_was_stopped_says_so_first(open_page: Open, stopped: Path) -> None:
    page: Any = open_page(stopped)
    assert (
        "was stopped by transfers that broke the rule for masters after 20 cycles"
        in page.locator("#findings").text_content()
    )
    assert "20 cycles" in page.locator("#overview .verdict").text_content()
    assert page.locator("#timeline canvas").count() > 0


def test_nothing_is_there_where_nothing_was_noticed(open_page: Open, digits: Path) -> None:
    assert open_page(digits / "report.html").locator("#findings").count() == 0
