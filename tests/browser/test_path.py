"""The critical path and the bottleneck in a real browser: shares add up, follow the range, and lead to the timeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tilesim.report.analysis.critical_path import critical_path, shares
from tilesim.report.document import load_run


@pytest.fixture
def page(open_page: Open, digits: Path) -> Any:
    return open_page(digits / "report.html")


@pytest.fixture
def cycles(digits: Path) -> int:
    return int(json.loads((digits / "run.json").read_text(encoding="utf-8"))["cycles"])


def counted(page: Any, kind: str) -> list[int]:
    return [int(row.get_attribute("data-cycles")) for row in page.locator(f"#path tr[data-{kind}]").all()]


def heard(page: Any, event: str) -> None:
    page.evaluate(f"window.heard = []; tilesim.on('{event}', (detail) => heard.push(detail))")


def test_shares_by_unit_and_reason_and_by_layer_add_up_to_the_run(page: Any, digits: Path, cycles: int) -> None:
    run = load_run(digits)
    assert run.trace is not None
    expected = shares(run.statistics, critical_path(run.statistics, run.trace))
    assert counted(page, "share") == [share.cycles for share in expected]
    assert sum(counted(page, "share")) == sum(counted(page, "layer")) == cycles


def test_shares_follow_the_range(page: Any, cycles: int) -> None:
    page.evaluate("tilesim.emit('range', { from: 500, to: 900 })")
    assert sum(counted(page, "share")) == sum(counted(page, "layer")) == 400
    assert "cycles 500 to 900" in page.locator("#path [role=status]").text_content()
    page.evaluate("tilesim.emit('range', { from: -50, to: 100 })")
    assert sum(counted(page, "share")) == 100
    page.evaluate(f"tilesim.emit('range', {{ from: {cycles + 5}, to: {cycles + 9} }})")
    assert counted(page, "share") == []
    page.evaluate("tilesim.emit('range', null)")
    assert sum(counted(page, "share")) == cycles


def test_a_share_leads_to_its_longest_step(page: Any) -> None:
    heard(page, "span")
    page.locator("#path tr[data-share] button").first.click()
    [asked] = page.evaluate("heard")
    assert asked["track"].endswith("mac_array")
    page.locator("#path .path-bar button").nth(1).click()
    other = page.evaluate("heard")[-1]
    assert other["track"] != asked["track"]


def test_the_longest_steps_are_the_longest(page: Any, digits: Path) -> None:
    run = load_run(digits)
    assert run.path is not None
    rows = page.locator("#path tr[data-step]").all()
    found = [int(row.locator("td").last.text_content().replace(",", "")) for row in rows]
    assert found == sorted(run.path.cycles.tolist(), reverse=True)[: len(rows)]


def test_its_columns_are_there_for_the_timeline(page: Any, digits: Path) -> None:
    run = load_run(digits)
    assert run.path is not None
    names = ("track", "start", "cycles")
    got = page.evaluate(
        "tilesim.given('path').then(({ columns }) => ['track', 'start', 'cycles'].map((name) => [...columns[name]]))"
    )
    assert got == [getattr(run.path, name).tolist() for name in names]


def test_the_first_screen_names_the_bottleneck_and_shows_it(page: Any) -> None:
    words = page.locator("#overview .verdict").text_content()
    assert "of the critical path is MAC arrays computing" in words
    assert "layer depthwise" in words
    heard(page, "window")
    page.locator("#overview .verdict button").click()
    [window] = page.evaluate("heard")
    assert f"in cycles {window['from']:,} to {window['to']:,}" in words


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_narrow_window(open_page: Open, digits: Path, scheme: str) -> None:
    page = open_page(digits / "report.html", viewport={"width": 900, "height": 800}, color_scheme=scheme)
    for name in ("overview", "path"):
        box = page.locator(f"#{name}").bounding_box()
        assert box["x"] + box["width"] <= 900
    assert page.evaluate("document.documentElement.scrollWidth") <= 900
