"""The page of a comparison in a real browser: its numbers are those of the document."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.browser.conftest import Open
from tests.report.made import layer, saved
from tilesim.cli import app
from tilesim.report.comparison import compared
from tilesim.report.page.compare import comparison_page

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def page_and_document(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The page of ``digits`` on one tile and on four, and what it shows."""
    folder = tmp_path_factory.mktemp("compared")
    calls = (
        ("run", "digits", "--topology", "edge-1x1", "--out", folder / "one"),
        ("compare", folder / "one", digits, "-o", folder / "page.html", "--json"),
    )
    for words in calls:
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
    return folder / "page.html", json.loads(result.stdout)


def numbers(page: Any, selector: str) -> list[int]:
    """The numbers in cells, without what stands beside them."""
    texts = page.locator(selector).evaluate_all("cells => cells.map((cell) => cell.firstChild.textContent)")
    return [int(text.replace(",", "").replace("\u2212", "-")) for text in texts]


def test_its_figures_and_differences_are_those_of_the_document(
    open_page: Open, page_and_document: tuple[Path, dict[str, Any]]
) -> None:
    path, found = page_and_document
    page = open_page(path)
    assert page.title() == "digits: 2 runs compared"
    assert numbers(page, "#runs tbody td:nth-child(4)") == [run["cycles"] for run in found["runs"]]
    assert f"{found['runs'][1]['speed_up']:.2f} ×" in page.locator("#runs").inner_text()
    assert "grid.rows" in page.locator("#differing").inner_text()
    rows = page.locator("#causes tbody tr")
    assert rows.count() == len(found["causes"]) + 1
    more = [row["cycles"][1] - row["cycles"][0] for row in found["causes"]]
    shown = numbers(page, "#causes tbody tr[data-cause] td.number:nth-of-type(2)")
    assert all(abs(a - b) <= 0.5 for a, b in zip(shown, more, strict=True))
    assert numbers(page, "#causes tr.sum td.number") == [
        found["runs"][0]["cycles"],
        found["runs"][1]["cycles"] - found["runs"][0]["cycles"],
    ]


def test_bars_are_as_long_as_their_cycles_and_tell_them(
    open_page: Open, page_and_document: tuple[Path, dict[str, Any]]
) -> None:
    path, found = page_and_document
    page = open_page(path)
    bars = page.locator("#cause-bars .stacked")
    full = bars.first.bounding_box()["width"]
    longest = max(run["cycles"] for run in found["runs"])
    row = next(row for row in found["causes"] if row["cause"] == "macs")
    for k, cycles in enumerate(row["cycles"]):
        part = bars.nth(k).locator("[data-cause=macs]").bounding_box()
        assert part["width"] == pytest.approx(full * cycles / longest, abs=1)
    bars.nth(1).hover()
    assert f"{round(row['cycles'][1]):,}" in page.locator("#tip").inner_text()


def test_layers_come_in_order_or_by_what_they_differ(
    open_page: Open, page_and_document: tuple[Path, dict[str, Any]]
) -> None:
    path, found = page_and_document
    page = open_page(path)
    cells = "#layers tr.layer > td:nth-child({})"
    for k in range(2):
        expected = [layer["runs"][k]["cycles"] for layer in found["layers"]]
        shown = numbers(page, cells.format(4 + k))
        assert all(abs(a - b) <= 0.5 for a, b in zip(shown, expected, strict=True))
    assert numbers(page, "#layers tr.sum td.number") == [run["cycles"] for run in found["runs"]]
    page.select_option("#order", "difference")
    differences = [abs(a - b) for a, b in zip(*(numbers(page, cells.format(k)) for k in (4, 5)), strict=True)]
    assert all(a >= b - 1 for a, b in pairwise(differences))
    assert differences != sorted(differences)
    page.locator(cells.format(4)).first.hover()
    assert "from its first step to its last word" in page.locator("#tip").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_are_text_whatever_they_hold(open_page: Open, tmp_path: Path, scheme: str) -> None:
    layers = [layer(SCRIPT, macs=50, port=10), layer("l1", macs=30)]
    runs = [saved(name, network=SCRIPT, topology=SCRIPT, layers=layers) for name in (SCRIPT.replace("/", "|"), "b")]
    runs[1].statistics["layers"] = layers[:1]
    path = tmp_path / "page.html"
    path.write_text(comparison_page(compared(runs)), encoding="utf-8")
    page = open_page(path, color_scheme=scheme)
    assert page.title() == f"{SCRIPT}: 2 runs compared"
    assert page.locator("#layers tr.layer th").first.get_attribute("title") == SCRIPT
    assert page.locator("#layers tr.layer td").last.inner_text() == "–"
    assert page.locator("#runs td").first.inner_text() == SCRIPT
    assert page.locator(".note").count() == 1
