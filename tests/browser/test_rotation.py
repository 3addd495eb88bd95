"""The section of words that rotate, in a browser: cells, words, ways, the ring, what other distances would bring."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.browser.conftest import Open
from tests.report.page.test_rotation import saved
from tests.rotating.test_motion import Seen, readable, traced
from tilesim.machines.motion import Motion
from tilesim.report.document import SavedRun, load_run
from tilesim.report.page.build import page as html
from tilesim.report.page.rotation import NO_PROGRAM, rotation
from tilesim.report.tracks import kind_of
from tilesim.rotating.isa.model.program import Program

FRAME = "#rotation .rot-frame"
LINE = "#rotation .rot-line"
PIXEL = """(canvas, x, y) => {
  const copy = document.createElement("canvas");
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, -Math.round(x), -Math.round(y));
  return [...context.getImageData(0, 0, 1, 1).data];
}"""
CELL = f"""([clock, unit, dx, dy, over]) => {{
  const {{ box, view, ratio, words }} = tilesim.rotation;
  const x = box.x + (unit * box.width) / words.units + dx, y = box.y + (clock - view.from) * view.row + dy;
  return ({PIXEL})(over ? tilesim.rotation.over : tilesim.rotation.under, x * ratio, y * ratio);
}}"""
CELLS = f"(cells) => cells.map({CELL})"
SECTOR = f"""([clock, unit]) => {{
  const {{ dial, ratio }} = tilesim.rotation;
  tilesim.rotation.go(clock, 0);
  const [x, y] = [Math.cos, Math.sin].map((part) => 150 + part(dial.angle(unit + 0.2)) * 108);
  return ({PIXEL})(dial.canvas, x * ratio, y * ratio).slice(0, 3);
}}"""
PLACE = """([clock, unit]) => {
  const { over, box, view, words } = tilesim.rotation;
  const { left, top } = over.getBoundingClientRect();
  return [left + box.x + ((unit + 0.5) * box.width) / words.units, top + box.y + (clock - view.from + 0.5) * view.row];
}"""


def drawn(run: SavedRun, path: Path) -> Path:
    section = rotation(run)
    assert section is not None
    path.write_text(html("rotating", "by hand", [section]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[SavedRun, Motion]:
    """The program to read, on 8 units."""
    folder = tmp_path_factory.mktemp("small")
    program, _ = readable()
    run, motion = traced(program)
    run.save(folder)
    tilesim.save_program(program, folder / "program.tasm")
    return load_run(folder), motion


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> SavedRun:
    """``digits`` on 1024 units."""
    return saved(tmp_path_factory.mktemp("large"))


@pytest.fixture
def page(open_page: Open, small: tuple[SavedRun, Motion]) -> Any:
    return open_page(drawn(small[0], small[0].folder / "page.html"))


@pytest.fixture
def large_page(open_page: Open, large: SavedRun) -> Any:
    return open_page(drawn(large, large.folder / "page.html"))


def settled(page: Any) -> None:
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def text(page: Any, selector: str) -> str:
    words: str = page.locator(selector).text_content()
    return words


def colour(page: Any, name: str) -> list[int]:
    value = page.evaluate(f"tilesim.colour('{name}')")
    return [int(value[k : k + 2], 16) for k in (1, 3, 5)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_used_for_an_output_is_bright_in_the_colour_of_its_channel(
    open_page: Open, small: tuple[SavedRun, Motion], scheme: str
) -> None:
    run, motion = small
    page = open_page(drawn(run, run.folder / "cells.html"), color_scheme=scheme)
    series = [colour(page, "series-0"), colour(page, "series-1")]
    seen, bright = Seen(motion, run.statistics["cycles"]), 0
    first, end = page.evaluate("[tilesim.rotation.view.from, tilesim.rotation.view.to]")
    page.evaluate("tilesim.rotation.go(0, 0, false)")
    for clock in range(first, end):
        if seen.element[clock] < 0 or seen.row(clock) < 0:
            continue
        k = seen.element[clock]
        works = seen.is_active[clock] and motion.ops[motion.slots.op[k]].work == "multiply_add"
        channels = motion.rows.channel[motion.rows.map[seen.row(clock)]][seen.origins(clock)]
        shown_cells = page.evaluate(CELLS, [[clock, unit, 4, 3, False] for unit in range(motion.units)])
        for unit, (*shown, _) in enumerate(shown_cells):
            used = works and motion.masks[motion.slots.mask[k], unit] and channels[unit] >= 0
            assert (shown in series) == used
            if used:
                assert shown == series[channels[unit]]
                bright += 1
    assert bright > 40


def test_the_cursor_says_which_word_is_where(page: Any) -> None:
    page.locator(FRAME).focus()
    page.evaluate("tilesim.rotation.go(14, 1)")
    assert text(page, LINE) == (
        "Clock 14, unit 1: x, line 0, channel 0, x 0 = \u22125; weight row 1 = \u22123; words go on by 1, units "
        "multiply and add, here for an output."
    )
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert text(page, LINE) == (
        "Clock 15, unit 2: x, line 0, channel 0, x 0 = \u22125; weight row 1 = \u22123; words go on by 1."
    )
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert text(page, LINE).startswith("Clock 15, unit 7: ")
    page.keyboard.press("Home")
    assert text(page, LINE).startswith("Clock 0, unit 7: no word yet; ")
    page.keyboard.press("End")
    assert text(page, LINE).startswith("Clock 48, unit 7: ")


def at(page: Any, clock: int, unit: int) -> tuple[float, float]:
    """Where a cell is on the screen."""
    x, y = page.evaluate(PLACE, [clock, unit])
    return x, y


def test_the_pointer_says_the_same(page: Any) -> None:
    page.locator(FRAME).scroll_into_view_if_needed()
    page.mouse.move(*at(page, 17, 5))
    tip = text(page, "#tip")
    assert "unit 5, clock 17" in tip
    assert "x, line 0, channel 0, x 1 = \u22122" in tip
    assert "weight row 2 = 4" in tip
    assert "units multiply and add, here for an output" in tip
    assert page.evaluate("[tilesim.rotation.clock, tilesim.rotation.unit]") == [17, 5]


def test_a_click_draws_the_way_of_a_word(page: Any, small: tuple[SavedRun, Motion]) -> None:
    run, motion = small
    seen = Seen(motion, run.statistics["cycles"])
    page.locator(FRAME).scroll_into_view_if_needed()
    page.mouse.click(*at(page, 15, 2))
    assert text(page, "#rotation .rot-way").startswith(
        "The way of x, line 0, channel 0, x 0 = \u22125: in units for 8 of "
    )
    accent = colour(page, "accent")
    page.evaluate("tilesim.rotation.go(40, 0)")
    row, way = seen.row(15), 0
    first, end = page.evaluate("[tilesim.rotation.view.from, tilesim.rotation.view.to]")
    for clock in range(first, end):
        if clock == 40 or seen.element[clock] < 0 or seen.row(clock) < 0:
            continue
        origins = seen.origins(clock)
        marks = page.evaluate(CELLS, [[clock, unit, 20, 1, True] for unit in range(8)])
        for unit, marked in enumerate(marks):
            is_way = seen.row(clock) == row and origins[unit] == 0
            assert (marked == [*accent, 255]) == is_way
            way += is_way
    assert way == 8
    page.keyboard.press("Escape")
    assert not page.locator("#rotation .rot-way").is_visible()


def test_it_plays_to_the_end_or_until_somebody_stops_it(page: Any) -> None:
    toggler = page.get_by_role("button", name="play or pause")
    page.locator(FRAME).focus()
    page.evaluate("tilesim.rotation.hands.quicken(5); tilesim.rotation.go(44, 1)")
    page.evaluate("window.asked = []; tilesim.on('cursor', ({ cycle }) => asked.push(cycle))")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{FRAME}[data-clock='48']")
    assert page.evaluate("asked") == [45, 46, 47, 48]
    page.wait_for_selector("#rotation button:text-is('Play')")
    page.keyboard.press("Enter")
    assert toggler.text_content() == "Pause"
    page.keyboard.press(" ")
    assert toggler.text_content() == "Play"
    clock = page.evaluate("tilesim.rotation.clock")
    page.wait_for_timeout(450)
    assert page.evaluate("tilesim.rotation.clock") == clock < 48


def test_the_ring_turns_with_the_cursor(page: Any) -> None:
    """The word of unit 0 in clock 13, which is alone in being used for nothing there."""
    blue, orange = colour(page, "series-0"), colour(page, "series-1")
    assert page.evaluate(SECTOR, [13, 1]) == page.evaluate(SECTOR, [13, 2]) == blue
    assert page.evaluate(SECTOR, [13, 5]) == page.evaluate(SECTOR, [13, 6]) == orange
    assert page.evaluate(SECTOR, [17, 1]) == orange
    assert page.evaluate(SECTOR, [17, 5]) == blue
    assert page.evaluate(SECTOR, [15, 2]) not in (blue, orange)


def test_other_distances(large_page: Any, large: SavedRun) -> None:
    section = rotation(large)
    assert section is not None
    found = section.data["jumps"]
    output = "#rotation .rot-jumps output"
    assert text(large_page, output) == f"By 1: {large.statistics['cycles']:,} cycles for the run, as this chip has it."
    for k, jump in enumerate(found):
        large_page.locator("#rotation-jump").fill(str(k))
        assert text(large_page, output).startswith(
            f"By {jump['words']}: {large.statistics['cycles'] + jump['more']:,} cycles"
        )
    layer = 3
    large_page.select_option("#rotation select[aria-label=layer]", str(layer))
    cycles = large.statistics["layers"][layer]["cycles"] + found[-1]["of_layers"][layer]
    assert text(large_page, output).startswith(f"By 1-64: {cycles:,} cycles for layer 3, ")
    bars = large_page.locator("#rotation .rot-bar")
    assert bars.count() == len(found)
    bars.nth(0).click()
    assert large_page.locator("#rotation-jump").input_value() == "0"


def test_a_layer_is_chosen_and_the_window_goes_there(large_page: Any, large: SavedRun) -> None:
    for layer in (3, 5):
        large_page.select_option("#rotation select[aria-label=layer]", str(layer))
        settled(large_page)
        start = large.statistics["layers"][layer]["start_cycle"]
        window = [int(large_page.get_attribute(FRAME, f"data-{end}")) for end in ("from", "to")]
        assert window[0] <= start + 20
        assert start - 5 < window[1]
    large_page.select_option("#rotation select[aria-label=layer]", "-1")
    settled(large_page)
    assert large_page.get_attribute(FRAME, "data-from") == "0"


def test_zoom_and_pan_stay_in_the_run(large_page: Any, large: SavedRun) -> None:
    page, cycles = large_page, large.statistics["cycles"]
    page.locator(FRAME).focus()
    spans = []
    for key in ("-",) * 14 + ("+",) * 14:
        page.keyboard.press(key)
        settled(page)
        first, end = (int(page.get_attribute(FRAME, f"data-{edge}")) for edge in ("from", "to"))
        assert 0 <= first < end <= cycles
        spans.append(end - first)
    assert spans[:14] == sorted(spans[:14])
    assert spans[14:] == sorted(spans[14:], reverse=True)
    assert spans[-1] < 30
    assert spans[13] > 2000
    page.keyboard.press("End")
    settled(page)
    assert page.get_attribute(FRAME, "data-to") == str(cycles)
    box = page.locator("#rotation .rot-strip").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 10)
    settled(page)
    assert abs(int(page.get_attribute(FRAME, "data-from")) - cycles / 2) < 40


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [900, 1600])
def test_nothing_is_wider_than_the_window(open_page: Open, large: SavedRun, scheme: str, width: int) -> None:
    page = open_page(
        drawn(large, large.folder / "wide.html"), viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    widest = page.evaluate(
        "Math.max(...[...document.querySelectorAll('#rotation *')].map((it) => it.getBoundingClientRect().right))"
    )
    assert widest <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_in_cells_can_be_read(open_page: Open, small: tuple[SavedRun, Motion], scheme: str) -> None:
    page = open_page(drawn(small[0], small[0].folder / "ink.html"), color_scheme=scheme)
    shown = page.evaluate("[tilesim.rotation.palette.colours, tilesim.rotation.palette.inks]")
    for way, colours in shown[0].items():
        for fill, ink in zip(colours, shown[1][way], strict=True):
            assert contrast(fill, [int(ink[k : k + 2], 16) for k in (1, 3, 5)]) >= 4.5


def contrast(one: list[int], other: list[int]) -> float:
    low, high = sorted(luminance(np.array(each) / 255) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(value: Any) -> float:
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_a_change_of_theme_is_seen_in_the_cells(page: Any) -> None:
    before = page.evaluate(CELL, [13, 1, 4, 3, False])
    page.click("#theme")
    settled(page)
    assert page.evaluate(CELL, [13, 1, 4, 3, False])[:3] == colour(page, "series-0") != before[:3]


def test_it_says_why_the_array_waits(large_page: Any, large: SavedRun) -> None:
    trace = large.trace
    assert trace is not None
    stall = trace.kinds.index("stall:input")
    ours = (trace.track == trace.tracks.index("nnu.array")) & (trace.kind == stall)
    cycle = int(trace.start_cycle[ours][0]) - trace.start
    large_page.evaluate(f"tilesim.rotation.go({cycle + 1}, 0)")
    assert f"the array {kind_of('stall:input').words}" in text(large_page, LINE)
    large_page.evaluate(f"tilesim.rotation.go({large.statistics['cycles'] - 1}, 0)")
    assert text(large_page, LINE).endswith("the array is done: all words stay.")


def test_markup_in_names_is_text(open_page: Open, tmp_path: Path, small: tuple[SavedRun, Motion]) -> None:
    nasty = "</script><img src=x onerror=alert(2)>"
    run = small[0]
    program = run.program
    assert isinstance(program, Program)
    marked = SavedRun(run.folder, run.statistics, run.trace)
    vars(marked)["program"] = replace(
        program,
        run=tuple(replace(op, label=op.label or f"{nasty}{k}") for k, op in enumerate(program.run)),
        tensors=tuple(replace(place, name=nasty) for place in program.tensors),
    )
    page = open_page(drawn(marked, tmp_path / "nasty.html"))
    page.locator(FRAME).focus()
    page.evaluate("tilesim.rotation.go(14, 1)")
    assert nasty in text(page, LINE)
    page.mouse.move(*at(page, 15, 2))
    assert page.locator("img").count() == 0


def test_without_a_program_it_says_how_to_get_one(
    open_page: Open, tmp_path: Path, small: tuple[SavedRun, Motion]
) -> None:
    page = open_page(drawn(SavedRun(tmp_path, small[0].statistics, None), tmp_path / "missing.html"))
    assert text(page, "#rotation .note") == NO_PROGRAM
