"""Pictures of batches in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.report.batched import batched
from tests.report.saved import made_up
from tilesim.report.comparison import compared
from tilesim.report.document import SavedRun
from tilesim.report.page.compare import comparison_page
from tilesim.report.page.sections import report

SCRIPT = "<script>alert(1)</script>"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def tip(page: Any) -> str:
    text: str = page.locator("#tip").inner_text()
    return text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pointing_tells_the_batch(open_page: Open, tmp_path: Path, scheme: str) -> None:
    page = open_page(written(tmp_path / "page.html", report(batched("demand"))), color_scheme=scheme)
    assert page.locator("#batching .batch").count() == 6
    last = page.locator("#batching .batch[data-layer='5']")
    last.hover(force=True)
    assert tip(page).splitlines()[:2] == ["layer 5, last", "inferences 0 to 31"]
    page.locator("#batching .line").hover(position={"x": 10, "y": 40}, force=True)
    assert tip(page).splitlines()[:2] == ["layer 0, stem", "inference 0"]
    assert "225.78 KiB in the buffer" in tip(page)


def test_schedules_trade_weights_for_buffer(open_page: Open, tmp_path: Path) -> None:
    runs = [batched("demand"), batched("lcm")]
    page = open_page(written(tmp_path / "page.html", comparison_page(compared(runs))))
    dots = page.locator("#compare_batching .dot")
    demand, lcm = (dots.nth(k).bounding_box() for k in range(2))
    assert demand["x"] > lcm["x"]  # more weights
    assert demand["y"] > lcm["y"]  # further down: less in the buffer
    dots.first.hover()
    assert {"weight sets: 45", "weights fetched: 308.25 KiB"} <= set(tip(page).splitlines())
    assert page.locator("#compare_batching .line").count() == 2
    assert page.locator("#batching-figures tbody tr").count() == 7


def test_names_are_text_and_no_steps_are_no_fault(open_page: Open, tmp_path: Path) -> None:
    run = batched("lcm")
    layers = [{**each, "name": SCRIPT} for each in run.statistics["layers"]]
    strange = SavedRun(run.folder, {**run.statistics, "network": SCRIPT, "layers": layers}, None)
    page = open_page(written(tmp_path / "page.html", report(strange)))
    assert page.locator("#batching .name title").first.text_content() == SCRIPT
    empty = {**run.statistics["batching"], "steps": [], "schedule": SCRIPT}
    page = open_page(written(tmp_path / "empty.html", report(made_up(None, batching=empty))))
    assert SCRIPT in page.locator("#batching .figures").inner_text()
    assert page.locator("#batching .fault").count() == 0
