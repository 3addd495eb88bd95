"""Who waits for whom in a real browser: its sums are run.json's, for the whole run and for a part of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import Open
from tests.report.page.test_colours import READ, colours, contrast, kinds, own
from tilesim.cli import app
from tilesim.report.tracks import accounts_of
from tilesim.sim.trace.trace import Trace

STRONGEST = 0.45
"""Of a reason's colour in a cell, in ``matrix.js``."""


@pytest.fixture
def page(open_page: Open, digits: Path) -> Any:
    return open_page(digits / "report.html")


@pytest.fixture
def statistics(digits: Path) -> Any:
    return json.loads((digits / "run.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run in which two masters meet."""
    folder = tmp_path_factory.mktemp("meeting")
    words = ["run", "workloads/dual-master/overlap.tasm", "--rules", "observe", "--trace", "--out", str(folder)]
    app(words, standalone_mode=False)
    app(["report", str(folder)], standalone_mode=False)
    return folder / "report.html"


def stalled(statistics: Any, reason: str = "") -> int:
    return sum(
        cycles
        for unit in accounts_of(statistics)
        for name, cycles in unit["stall_cycles"].items()
        if reason in ("", name)
    )


def numbers(page: Any, selector: str) -> list[int]:
    return [int(node.get_attribute("data-cycles")) for node in page.locator(f"#matrix {selector}").all()]


def test_its_cells_add_up_to_run_json(page: Any, statistics: Any) -> None:
    for by in ("role", "place"):
        page.select_option("#matrix-by", by)
        assert sum(numbers(page, "tbody td[data-culprit]")) == stalled(statistics)
        assert sum(numbers(page, "tbody td.sum")) == stalled(statistics)
        *columns, every = numbers(page, "tfoot td.sum")
        assert sum(columns) == every == stalled(statistics)


def test_one_reason_alone_has_its_cycles(page: Any, statistics: Any) -> None:
    for reason, words in (("port", "waits for a memory port"), ("flag", "waits for a flag")):
        page.select_option("#matrix-only", label=words)
        assert numbers(page, "tfoot td.sum")[-1] == stalled(statistics, reason)
    page.select_option("#matrix-only", label="mesh")
    assert 0 < numbers(page, "tfoot td.sum")[-1] < stalled(statistics)


def test_a_row_opens_to_its_units_by_keyboard(page: Any, statistics: Any) -> None:
    row = page.locator("#matrix tr[data-line='MAC arrays']")
    row.locator("th button").focus()
    page.keyboard.press("Enter")
    members = page.locator("#matrix tr.unit")
    assert members.count() == 4
    assert sum(numbers(page, "tr.unit td.sum")) == int(row.locator("td.sum").get_attribute("data-cycles"))
    first = next(unit for unit in statistics["units"] if unit["track"] == "chip.tile0.mac_array")
    cell = page.locator("#matrix tr.unit", has_text="tile 0 MAC array").locator("td.sum")
    assert int(cell.get_attribute("data-cycles")) == sum(first["stall_cycles"].values())
    page.keyboard.press("Enter")
    assert members.count() == 0


def test_a_cell_leads_to_its_longest_stall(page: Any, digits: Path) -> None:
    trace = Trace.load(digits / "trace.npz")
    page.evaluate("tilesim.on('span', (span) => { document.title = JSON.stringify(span); })")
    button = page.locator("#matrix tr[data-line='mesh in'] td[data-culprit='mesh out'] button")
    button.hover()
    assert "longest" in page.locator("#tip").text_content()
    button.click()
    found = json.loads(page.title())
    on_track = trace.track == trace.tracks.index(found["track"])
    spans = on_track & (trace.start_cycle - trace.start == found["cycle"]) & (trace.kind != trace.kinds.index("busy"))
    same = [k for k in np.flatnonzero(trace.kind == trace.kind[spans][0]) if "mesh_in" in trace.tracks[trace.track[k]]]
    assert spans.sum() == 1
    assert trace.cycles[spans][0] <= trace.cycles[same].max()


def test_it_follows_a_dragged_range(page: Any, digits: Path, statistics: Any) -> None:
    trace = Trace.load(digits / "trace.npz")
    begin = trace.start_cycle - trace.start
    waits = trace.kind != trace.kinds.index("busy")
    third = statistics["cycles"] // 3
    parts = [(0, third), (third, 2 * third), (2 * third, statistics["cycles"])]
    cells: dict[str, int] = {}
    for first, end in parts:
        page.evaluate(f"tilesim.emit('range', {{ from: {first}, to: {end} }})")
        page.get_by_text(f"cycles {first:,} to {end:,}, as marked in the timeline").wait_for()
        inside = np.minimum(begin + trace.cycles, end) - np.maximum(begin, first)
        assert numbers(page, "tfoot td.sum")[-1] == int(np.maximum(inside, 0)[waits].sum())
        for line in page.locator("#matrix tbody tr").all():
            for cell in line.locator("td[data-culprit]").all():
                key = f"{line.get_attribute('data-line')} {cell.get_attribute('data-culprit')}"
                cells[key] = cells.get(key, 0) + int(cell.get_attribute("data-cycles"))
    page.evaluate("tilesim.emit('range', null)")
    page.locator("#matrix").get_by_text("the whole run").wait_for()
    whole = {
        f"{line.get_attribute('data-line')} {cell.get_attribute('data-culprit')}": int(
            cell.get_attribute("data-cycles")
        )
        for line in page.locator("#matrix tbody tr").all()
        for cell in line.locator("td[data-culprit]").all()
    }
    assert cells == whole


def test_a_finding_is_marked_in_the_colours_of_its_masters(open_page: Open, meeting: Path) -> None:
    page = open_page(meeting)
    finding = page.locator("#contention .findings li")
    assert finding.count() == 1
    assert "in cycle 20" in finding.text_content()
    hues = finding.locator(".swatch").evaluate_all("nodes => nodes.map((node) => node.getAttribute('style'))")
    masters = page.locator("#contention .heat-bar .swatch").evaluate_all(
        "nodes => nodes.map((node) => node.getAttribute('style'))"
    )
    assert hues == masters
    page.evaluate("tilesim.on('window', ({ from, to }) => { document.title = `${from} ${to}`; })")
    finding.locator("button").click()
    first, end = map(int, page.title().split())
    assert first < 20 < end


@pytest.mark.parametrize("width", [900, 1600])
def test_nothing_is_wider_than_the_page(open_page: Open, digits: Path, width: int) -> None:
    page = open_page(digits / "report.html", viewport={"width": width, "height": 900})
    page.select_option("#matrix-by", "place")
    for section in ("matrix", "contention"):
        box = page.locator(f"#{section}").evaluate("node => [node.scrollWidth, node.clientWidth]")
        assert box[0] <= box[1]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_can_be_read_on_every_cell(theme: str) -> None:
    of = colours(theme)
    for name in own(kinds(), theme):
        assert contrast(of["fg"], STRONGEST * of[name] + (1 - STRONGEST) * of["bg"]) >= READ, name


def test_transfers_have_their_commands_or_what_they_save(open_page: Open, tmp_path: Path, digits: Path) -> None:
    rows = open_page(digits / "report.html").locator("#matrix tr[data-label]")
    assert rows.count() == 10
    first = rows.first.get_attribute("data-label")
    assert rows.first.locator("code").text_content() == f"tilesim run program.tasm --instant {first}"
    app(["report", str(digits), "--what-if", "2", "-o", str(tmp_path / "what-if.html")], standalone_mode=False)
    page = open_page(tmp_path / "what-if.html")
    saved = page.locator("#matrix tr[data-label]").first.locator("td").last
    assert re.fullmatch(r"\d[\d,]* cycles \(\d+\.\d %\)", saved.text_content())
    assert page.locator("#matrix tr[data-label] code").count() == 8
