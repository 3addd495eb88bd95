"""Links over time and stalls in a real browser: what they show is run.json."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import Open
from tilesim.cli import app
from tilesim.report.analysis.contention import BINS
from tilesim.report.analysis.spans import edges_of
from tilesim.shipped import shipped
from tilesim.sim.trace.trace import Trace

GUTTER = 150
HEADER, ROW = 18, 13


@pytest.fixture
def page(open_page: Open, digits: Path) -> Any:
    return open_page(digits / "report.html")


@pytest.fixture
def statistics(digits: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((digits / "run.json").read_text(encoding="utf-8"))
    return document


def place(page: Any, row: float, across: float) -> dict[str, float]:
    """A position on the heat map: so many pixels down, and a share of the run across."""
    box = page.locator("canvas.heat").bounding_box()
    return {"x": GUTTER + across * (box["width"] - GUTTER), "y": row}


def hover(page: Any, row: float, across: float) -> str:
    page.locator("canvas.heat").hover(position=place(page, row, across))
    text: str = page.locator("#tip").text_content()
    return text


def test_every_bus_has_the_cycles_of_run_json(page: Any, statistics: dict[str, Any]) -> None:
    for bus, track in (("ring", ".ring."), ("mesh", ".mesh."), ("instruction bus", ".instruction_bus.")):
        links = [link for link in statistics["links"] if track in link["track"]]
        cells = page.locator(f"tr[data-bus='{bus}'] td").all_text_contents()
        waits = sum(cycles for link in links for cycles in link["stall_cycles"].values())
        assert [cells[k] for k in (1, 2, 4)] == [
            str(len(links)),
            f"{sum(link['busy_cycles'] for link in links):,}",
            f"{waits:,}",
        ]


def test_every_unit_has_the_cycles_of_run_json(page: Any, statistics: dict[str, Any]) -> None:
    rows = page.locator("tr.kind[data-unit='4 MAC arrays'], tr.member[data-unit^='tile'][data-unit$='MAC array']")
    shown = [(row.get_attribute("data-busy"), row.get_attribute("data-stalled")) for row in rows.all()]
    arrays = [unit for unit in statistics["units"] if unit["track"].endswith(".mac_array")]
    each = [(unit["busy_cycles"], sum(unit["stall_cycles"].values())) for unit in arrays]
    whole = (sum(busy for busy, _ in each), sum(stalled for _, stalled in each))
    assert shown == [(str(busy), str(stalled)) for busy, stalled in (whole, *each)]


def test_a_cell_tells_its_cycles_and_masters(page: Any, digits: Path, statistics: dict[str, Any]) -> None:
    trace = Trace.load(digits / "trace.npz")
    on_link = trace.track == trace.tracks.index("chip.ring.link0")
    run = np.flatnonzero(on_link & (trace.start_cycle >= trace.start))
    first = int(trace.start_cycle[run[0]]) - trace.start
    bin_ = int(np.searchsorted(edges_of(statistics["cycles"], BINS), first, side="right")) - 1
    words = hover(page, HEADER + ROW / 2, (bin_ + 0.5) / BINS)
    assert re.fullmatch(r"ring link 0cycles [0-9]+ to [0-9]+carrying in 1 of [89] .*waiting in 0.*infeed: 1", words)
    assert "carrying in " in hover(page, HEADER / 2, 0.5)
    total = hover(page, HEADER + ROW / 2, -0.01)
    busy = next(link["busy_cycles"] for link in statistics["links"] if link["track"] == "chip.ring.link0")
    assert f"carrying in {busy} of {statistics['cycles']:,} cycles" in total


def test_a_click_on_a_cell_asks_for_its_cycles_and_its_track(page: Any) -> None:
    page.evaluate("window.asked = []; for (const name of ['window', 'track']) tilesim.on(name, (it) => asked.push(it))")
    page.locator("canvas.heat").click(position=place(page, HEADER + ROW / 2, 0.5))
    window, track = page.evaluate("asked")
    assert window["to"] - window["from"] in {8, 9}
    assert track == {"name": "chip.ring.link0"}


def test_a_bus_folds_and_unfolds(page: Any) -> None:
    heat = page.locator("canvas.heat")
    before = heat.bounding_box()["height"]
    heat.click(position={"x": 20, "y": HEADER / 2})
    assert heat.bounding_box()["height"] == pytest.approx(before - 7 * ROW, abs=1)
    heat.click(position={"x": 20, "y": HEADER / 2})
    assert heat.bounding_box()["height"] == before


def test_keys_move_over_cells(page: Any) -> None:
    page.evaluate("window.asked = []; tilesim.on('window', (it) => asked.push(it))")
    page.locator("canvas.heat").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate("asked") == [{"from": 16, "to": 25}]


def test_units_of_a_kind_open(page: Any) -> None:
    member = page.locator("tr.member[data-unit='tile 0 MAC array']")
    assert not member.is_visible()
    page.locator("tr.kind[data-unit='4 MAC arrays'] button").click()
    assert member.is_visible()


def test_a_run_without_a_trace_says_how_to_get_one(open_page: Open, digits: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    (tmp_path / "run.json").write_bytes((digits / "run.json").read_bytes())
    assert CliRunner().invoke(app, ["report", str(tmp_path)]).exit_code == 0
    page = open_page(tmp_path / "report.html")
    assert "--trace" in page.locator("#contention .note").text_content()
    assert page.locator("canvas.heat").count() == 0
    assert page.locator("tr.kind").count() > 5


def test_buses_that_carried_nothing_begin_folded(open_page: Open, tmp_path: Path) -> None:
    overlap = str(shipped("workloads") / "dual-master" / "overlap.tasm")
    app(["run", overlap, "--rules", "observe", "--trace", "--out", str(tmp_path), "-q"], standalone_mode=False)
    app(["report", str(tmp_path)], standalone_mode=False)
    page = open_page(tmp_path / "report.html")
    assert page.locator("tr[data-bus='mesh'] td").nth(6).inner_text() == "–"
    page.locator("canvas.heat").click(position={"x": 20, "y": HEADER + 11 * ROW + HEADER / 2})
    unfolded = page.locator("canvas.heat").bounding_box()["height"]
    page.locator("canvas.heat").click(position={"x": 20, "y": HEADER + 11 * ROW + HEADER / 2})
    assert page.locator("canvas.heat").bounding_box()["height"] == pytest.approx(unfolded - 20 * ROW, abs=1)
