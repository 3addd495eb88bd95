"""The tornado in a real browser: its bars are those of the document."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.explore.stepped import MADE, row, sensitivity
from tilesim.report.page.sensitivity import sensitivity_page
from tilesim.report.sensitivity import sensitivity_document

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(sensitivity_page(sensitivity_document(MADE)), encoding="utf-8")
    return path


def panels(page: Any) -> list[str]:
    """The measures that are seen."""
    return page.locator("#tornado thead .panel:visible").evaluate_all("all => all.map((cell) => cell.dataset.measure)")


def names(page: Any) -> list[str]:
    """The keys in the order of the page."""
    return page.locator("#tornado tbody th").evaluate_all("cells => cells.map((cell) => cell.firstChild.textContent)")


def test_bars_are_as_long_as_the_logarithms_of_what_they_show(open_page: Open, path: Path) -> None:
    page = open_page(path, viewport={"width": 1600, "height": 900})
    assert page.title() == "net on chip: what each key is worth"
    lines = page.locator("#tornado .step")
    assert lines.count() == 6  # the steps of the keys that change anything, the one that was refused with them
    shown = lines.nth(0).locator("[data-measure=time]")
    assert shown.inner_text().split() == ["+100", "%"]
    widths = {}
    for number, ratio in ((0, 2.0), (2, 0.5), (3, 1.1), (4, 0.95)):
        bar = lines.nth(number).locator("[data-measure=time] .bar")
        assert ("better" in bar.get_attribute("class")) == (ratio < 1)
        widths[ratio] = bar.bounding_box()["width"] / abs(log2(ratio))
    assert max(widths.values()) == pytest.approx(min(widths.values()), rel=0.02)
    assert lines.nth(2).locator("[data-measure=cycles] .bar").count() == 0  # another clock, the same cycles
    assert lines.nth(1).locator("td.why").inner_text() == "refused: no, not 128"
    hue = "bar => getComputedStyle(bar).backgroundColor"
    sides = [page.locator(f".bar.{side}").first.evaluate(hue) for side in ("better", "worse")]
    assert sides[0] != sides[1]
    assert panels(page) == ["time", "cycles", "energy"]
    assert page.locator("#idle tbody tr").all_inner_texts() == [
        "idle_bytes\t64\t32 (area \N{MINUS SIGN}25.0 %), 128 (area +50.0 %)"
    ]
    assert page.locator("#refused tbody tr").all_inner_texts() == ["tile.lanes\t64\t128\trefused: no, not 128"]
    assert page.locator("#unstepped tbody tr").all_inner_texts() == ["hop_cycles\t1\t1 has no half"]
    # hovering a line tells its numbers, and what repeats them
    page.locator("#tornado .step").nth(2).hover()
    told = page.locator("#tip").inner_text()
    assert "clock_hz: 1 MHz → 2 MHz" in told
    assert "50 us" in told
    assert "faster" in told
    assert "tilesim run net -t chip --set clock_hz=2000000" in told


def test_the_order_is_chosen_and_lines_are_reached_by_keys(open_page: Open, path: Path) -> None:
    page = open_page(path, color_scheme="dark")
    assert names(page) == ["tile.lanes", "clock_hz", "ring.width", "mesh.words"]
    page.focus("#order")
    page.keyboard.press("Tab")
    stops = [("", "tile.lanes"), ("ArrowDown", "tile.lanes"), ("ArrowDown", "clock_hz"), ("End", "mesh.words")]
    for key, expected in stops:
        if key:
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(f"{expected} from")
        assert expected in page.locator("#tip").inner_text()
    page.keyboard.press("ArrowDown")  # there is no line below
    for order, first in (("cycles", "tile.lanes"), ("energy", "ring.width"), ("time-saved", "clock_hz")):
        page.select_option("#order", order)
        assert names(page)[0] == first
    page.set_viewport_size({"width": 900, "height": 900})  # there is room for two panels
    for order, expected in (("time", ["time", "energy"]), ("cycles", ["cycles", "energy"])):
        page.select_option("#order", order)
        assert panels(page) == expected
    assert page.evaluate("document.documentElement.scrollWidth") <= 900


def test_names_are_text_whatever_they_hold(open_page: Open, tmp_path: Path) -> None:
    made = sensitivity(
        [(SCRIPT, SCRIPT, [(SCRIPT, row(50)), ("b", row(None, reason=SCRIPT))])], base=row(100, reason="")
    )
    (tmp_path / "page.html").write_text(sensitivity_page(sensitivity_document(made)), encoding="utf-8")
    page = open_page(tmp_path / "page.html")
    assert names(page) == [SCRIPT]
    assert SCRIPT in page.locator("td.why").inner_text()


def test_a_page_without_any_effect(open_page: Open, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(sensitivity_page(sensitivity_document(sensitivity([]))), encoding="utf-8")
    assert "No step changes anything." in open_page(tmp_path / "page.html").locator("#sensitivity").inner_text()
