"""The list of instructions in a real browser: it is the program's, it adds up to the trace, and goes both ways."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import Open
from tests.report.page.test_instructions import long
from tests.report.saved import made_up
from tilesim.report.analysis.instructions import Listed, listed
from tilesim.report.document import SavedRun, load_run
from tilesim.report.page.build import page as html
from tilesim.report.page.instructions import instructions

ROWS = "#instructions .ins-body .ins-row"


@pytest.fixture(scope="module")
def run(digits: Path) -> SavedRun:
    return load_run(digits)


@pytest.fixture(scope="module")
def rows(run: SavedRun) -> list[Listed]:
    assert run.program is not None
    return listed(run.program)


@pytest.fixture
def page(open_page: Open, digits: Path) -> Any:
    return open_page(digits / "report.html")


def cells(page: Any, name: str) -> list[str]:
    found: list[str] = page.locator(f"{ROWS} .ins-{name}").all_text_contents()
    return found


def said(page: Any) -> str:
    words: str = page.locator("#instructions [role=status]").text_content()
    return words


def test_the_list_is_the_program_in_its_order(page: Any, rows: list[Listed]) -> None:
    assert said(page) == f"{len(rows)} of {len(rows)} instructions"
    shown = cells(page, "label")
    assert shown == [row.label for row in rows[: len(shown)]]
    assert len(shown) < 60


def test_its_cycles_are_those_of_the_trace(page: Any, run: SavedRun) -> None:
    """First cycle, and busy and waiting cycles of the average unit that carries an instruction out."""
    trace = run.trace
    assert trace is not None
    page.select_option("#instructions select[aria-label=kind]", label="tensorop")
    labels = cells(page, "label")
    assert labels
    tracks = np.array([track.endswith(".mac_array") for track in trace.tracks])
    waits = np.array([kind not in ("busy", "stall:work") for kind in trace.kinds])
    for at, label in enumerate(labels):
        ours = (trace.what == trace.whats.index(label)) & tracks[trace.track]
        units = np.unique(trace.track[ours]).size
        busy = trace.cycles[ours & (trace.kind == trace.kinds.index("busy"))].sum() / units
        waiting = trace.cycles[ours & waits[trace.kind]].sum() / units
        assert cells(page, "start")[at] == f"{trace.start_cycle[ours].min() - trace.start:,}"
        assert abs(int(cells(page, "busy")[at].replace(",", "")) - busy) <= 0.5
        assert abs(int(cells(page, "waiting")[at].replace(",", "")) - waiting) <= 0.5


def test_it_is_searched_and_filtered(page: Any, rows: list[Listed]) -> None:
    page.fill("#instructions input", "ring_read_a")
    wanted = [
        row.label
        for row in rows
        if any("ring_read_a" in words for words in (row.explanation.raises, row.assembly))
        or any("ring_read_a" in wait.words for wait in row.explanation.waits)
    ]
    assert said(page) == f"{len(wanted)} of {len(rows)} instructions"
    assert cells(page, "label") == wanted[: len(cells(page, "label"))]
    page.fill("#instructions input", "")
    page.select_option("#instructions select[aria-label=layer]", "2")
    page.select_option("#instructions select[aria-label=tile]", "3")
    both = [row.label for row in rows if row.layer == 2 and 3 in row.explanation.tiles]
    assert cells(page, "label") == both[: len(cells(page, "label"))]
    assert said(page).startswith(f"{len(both)} of ")


def test_it_is_put_in_order(page: Any) -> None:
    page.select_option("#instructions select[aria-label=order]", "waiting")
    waiting = [int(text.replace(",", "")) for text in cells(page, "waiting")]
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[0] > 0


def test_a_click_tells_others_and_shows_who_raises_what(page: Any, run: SavedRun, rows: list[Listed]) -> None:
    row = next(row for row in rows if row.kind == "tensorop" and any(wait.by for wait in row.explanation.waits))
    page.evaluate(
        "window.asked = []; for (const name of ['instruction', 'span']) tilesim.on(name, (it) => asked.push(it))"
    )
    page.fill("#instructions input", row.label)
    page.locator(f"{ROWS} >> nth=0").click()
    asked = page.evaluate("asked")
    [span] = [each for each in asked if "track" in each]
    assert {each["label"] for each in asked if "label" in each} == {row.label}
    trace = run.trace
    assert trace is not None
    ours = (trace.what == trace.whats.index(row.label)) & (trace.kind == trace.kinds.index("busy"))
    arrays = ours & np.array([track.endswith(".mac_array") for track in trace.tracks])[trace.track]
    longest = trace.cycles[arrays].max()
    spans = {(trace.tracks[trace.track[k]], int(trace.start_cycle[k]) - trace.start): int(trace.cycles[k])
             for k in np.flatnonzero(arrays)}  # fmt: skip
    assert spans[span["track"], span["cycle"]] == longest
    text = page.locator("#instructions .ins-details").text_content()
    assert row.explanation.operands in text
    assert row.assembly in text
    for wait in row.explanation.waits:
        assert wait.words in text
        assert all(rows[by].label in text for by in wait.by)
    raiser = rows[next(wait.by[0] for wait in row.explanation.waits if wait.by)].label
    page.locator("#instructions .ins-details .ins-link", has_text=raiser).first.click()
    assert page.locator("#instructions .ins-details h3").text_content() == raiser
    assert page.locator(f"{ROWS}[aria-selected=true] .ins-label").text_content() == raiser


def test_a_choice_in_the_timeline_scrolls_the_list_there(page: Any, rows: list[Listed]) -> None:
    label = rows[-1].label
    page.fill("#instructions input", "nothing like that")
    assert cells(page, "label") == []
    page.evaluate(f"tilesim.emit('instruction', {{label: {label!r}}})")
    assert page.locator(f"{ROWS}[aria-selected=true] .ins-label").text_content() == label
    assert page.locator("#instructions .ins-details h3").text_content() == label
    page.evaluate("tilesim.emit('instruction', {label: 'of the load program'})")
    assert page.locator("#instructions .ins-details h3").text_content() == label


def test_keys_choose_and_show(page: Any, rows: list[Listed]) -> None:
    page.evaluate("window.asked = []; tilesim.on('instruction', (it) => asked.push(it.label))")
    page.locator("#instructions .ins-list").focus()
    for key, place in (("ArrowDown", 0), ("ArrowDown", 1), ("End", len(rows) - 1), ("ArrowUp", len(rows) - 2)):
        page.keyboard.press(key)
        assert page.locator("#instructions .ins-details h3").text_content() == rows[place].label
        assert page.locator("#instructions .ins-list").get_attribute("aria-activedescendant") == f"ins-{place}"
    assert page.evaluate("asked") == []
    page.keyboard.press("Enter")
    assert set(page.evaluate("asked")) == {rows[-2].label}


def test_the_stall_of_a_run_names_who_ended_it(page: Any, run: SavedRun, rows: list[Listed]) -> None:
    trace = run.trace
    assert trace is not None
    labels = {row.label for row in rows}
    stall, by = next(
        (k, by)
        for k, by in enumerate(trace.released_by.tolist())
        if by >= 0 and trace.whats[trace.what[k]] in labels and trace.what[by] != trace.what[k]
    )
    page.fill("#instructions input", trace.whats[trace.what[stall]])
    page.locator(ROWS).filter(has_text=trace.whats[trace.what[stall]]).first.click()
    assert trace.whats[trace.what[by]] in page.locator("#instructions .ins-details").text_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_small_window(open_page: Open, digits: Path, scheme: str) -> None:
    page = open_page(digits / "report.html", viewport={"width": 900, "height": 800}, color_scheme=scheme)
    page.locator(f"{ROWS} >> nth=3").click()
    box = page.locator("#instructions").bounding_box()
    widest = page.evaluate(
        "Math.max(...[...document.querySelectorAll('#instructions *')].map((it) => it.getBoundingClientRect().right))"
    )
    assert box["x"] + box["width"] <= 900
    assert widest <= 900


def test_20_000_instructions_scroll(open_page: Open, tmp_path: Path) -> None:
    run = made_up(None)
    vars(run)["program"] = long(20_000)
    path = tmp_path / "long.html"
    path.write_text(html("long", "by hand", [instructions(run)]), encoding="utf-8")
    page = open_page(path)
    assert said(page) == "20,000 of 20,000 instructions"
    page.evaluate("document.querySelector('.ins-list').scrollTop = 12345 * 24")
    page.wait_for_selector("#ins-12345")
    assert page.locator(ROWS).count() < 60
    page.locator("#instructions .ins-list").focus()
    page.keyboard.press("End")
    assert page.locator(f"{ROWS}[aria-selected=true] .ins-label").text_content() == "pack19999"


def test_markup_in_labels_is_text(open_page: Open, tmp_path: Path, run: SavedRun) -> None:
    nasty = "</script><img src=x onerror=alert(2)>"
    program = run.program
    assert program is not None
    marked = SavedRun(run.folder, run.statistics, None)
    vars(marked)["program"] = replace(
        program, run=tuple(replace(op, label=f"{nasty}{k}") for k, op in enumerate(program.run))
    )
    path = tmp_path / "nasty.html"
    path.write_text(html("nasty", "by hand", [instructions(marked)]), encoding="utf-8")
    page = open_page(path)
    page.locator(f"{ROWS} >> nth=0").click()
    assert page.locator("#instructions .ins-details h3").text_content() == f"{nasty}0"
    assert page.locator("main img").count() == 0
