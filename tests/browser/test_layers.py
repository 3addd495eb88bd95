"""The table of layers in a real browser: sorted, copied, and summing to run.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.report.saved import made_up
from tilesim.report.analysis.layers import array_cycles, layers
from tilesim.report.page.sections import report

MARKUP = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def page(open_page: Open, digits: Path) -> Any:
    return open_page(digits / "report.html")


@pytest.fixture
def statistics(digits: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((digits / "run.json").read_text(encoding="utf-8"))
    return document


def column(page: Any, title: str, rows: str = "tbody tr") -> list[str]:
    """What a column shows."""
    place = page.locator("table.layers th").all_text_contents().index(title)
    return [row.locator("td").nth(place).text_content() for row in page.locator(f"table.layers {rows}").all()]


def test_the_totals_are_those_of_run_json(page: Any, statistics: dict[str, Any]) -> None:
    shown = [0 if cell == "-" else int(cell.replace(",", "")) for cell in column(page, "cycles")]
    outside, whole = (int(cell.replace(",", "")) for cell in column(page, "cycles", "tfoot tr"))
    assert sum(shown) + outside == whole == statistics["cycles"]
    assert column(page, "lasted") == [
        f"{layer['cycles']:,}" if layer["cycles"] else "-" for layer in statistics["layers"]
    ]
    assert column(page, "MACs", "tfoot tr") == ["-", f"{statistics['macs']:,}"]
    cycles = [int(cell.get_attribute("data-cycles")) for cell in page.locator("table.layers td[data-cycles]").all()]
    assert sum(cycles[:-1]) == cycles[-1] == sum(statistics["breakdown"].values())
    buses = len(statistics["bytes"])
    cells = [int(cell.get_attribute("data-bytes")) for cell in page.locator("table.layers td[data-bytes]").all()]
    for k, moved in enumerate(statistics["bytes"].values()):
        each = cells[k::buses]
        assert sum(each[:-1]) == each[-1] == moved["entered"]


def test_a_column_sorts_down_and_up(page: Any, statistics: dict[str, Any]) -> None:
    cycles = sorted(array_cycles(statistics)[:-1], reverse=True)
    head = page.locator("table.layers th button", has_text="cycles").first
    shown = [f"{n:,}" if n else "-" for n in cycles]
    head.click()
    assert column(page, "cycles") == shown
    assert page.locator("th[aria-sort=descending]").text_content() == "cycles"
    page.keyboard.press("Enter")  # the heading keeps the focus
    assert column(page, "cycles") == shown[::-1]


def test_the_table_is_copied_with_its_exact_numbers(open_page: Open, digits: Path, statistics: dict[str, Any]) -> None:
    page = open_page(digits / "report.html", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy table").click()
    page.get_by_text(f"copied {len(statistics['layers']) + 2} rows").wait_for()
    rows = [line.split("\t") for line in page.evaluate("navigator.clipboard.readText()").split("\n")]
    assert {len(row) for row in rows} == {len(rows[0])}
    use = rows[0].index("in use")
    assert [float(row[use]) for row in rows[1:-2]] == [layer.in_use for layer in layers(statistics)]


def test_a_click_on_a_layer_asks_for_its_cycles(page: Any, statistics: dict[str, Any]) -> None:
    page.evaluate("window.asked = []; tilesim.on('window', (it) => asked.push(it))")
    page.locator("tr[data-layer='3'] button").click()
    layer = statistics["layers"][3]
    assert page.evaluate("asked") == [
        {"from": layer["start_cycle"], "to": layer["start_cycle"] + layer["cycles"]},
    ]


def test_a_bar_tells_where_the_cycles_went(page: Any, statistics: dict[str, Any]) -> None:
    page.locator("tr[data-layer='1'] .stack").hover()
    words = page.locator("#tip").text_content()
    for cause, cycles in statistics["layers"][1]["breakdown"].items():
        assert f"{'MAC array' if cause == 'macs' else cause}: {cycles:,} (" in words


def test_definitions_stand_beside(page: Any) -> None:
    meanings = page.locator("#layers dl").text_content()
    assert "most of the MAC arrays' cycles" in meanings
    assert "a memory port is denied" in meanings


def test_names_of_layers_are_text(open_page: Open, tmp_path: Path, statistics: dict[str, Any]) -> None:
    layers = [{**layer, "name": MARKUP, "network": MARKUP} for layer in statistics["layers"]]
    path = tmp_path / "report.html"
    path.write_text(report(made_up(None, **{**statistics, "layers": layers})), encoding="utf-8")
    page = open_page(path)
    assert "alert(1)" in page.locator("tr[data-layer='1'] .name").text_content()
    assert page.locator("main img").count() == 0
