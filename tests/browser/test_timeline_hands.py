"""The timeline's hands in a real browser: wheel, keys, ranges and their totals, pins, chains, counters, the address."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

from tests.browser.conftest import Open
from tests.browser.test_timeline import TRACKS, WINDOW, longest_stall, point_at, write
from tests.report.saved import made_up, random_trace
from tilesim.registry import description_of
from tilesim.report.analysis.dependences import Dependences
from tilesim.report.document import SavedRun, load_run
from tilesim.report.tracks import kind_of, role

SETTLED_MS = 250
# The table of a range: its heading's words, and every row's cycles as they are, not as they show.
TABLE = """() => {
    const rows = [...document.querySelectorAll("#timeline .range tr")];
    const shown = (cell) => cell.dataset.cycles ?? cell.innerText.split("\\n")[0].trim();
    return rows.map((row) => [...row.children].map(shown));
}"""


def settled(page: Any) -> None:
    page.wait_for_timeout(SETTLED_MS)


def window(page: Any) -> tuple[float, float]:
    begin, end = page.evaluate(WINDOW)
    return begin, end


def into_view(page: Any) -> dict[str, float]:
    """Where the picture is, which shows whole."""
    page.evaluate("() => document.getElementById('timeline').scrollIntoView({ behavior: 'instant' })")
    box: dict[str, float] = page.locator("#timeline .plot").bounding_box()
    return box


def totals(page: Any) -> tuple[list[str], dict[str, list[float]]]:
    """The titles of a range's columns, and the numbers of each row."""
    head, *rows = page.evaluate(TABLE)
    return head[1:], {row[0]: [float(cell) for cell in row[1:]] for row in rows}


# ---- moving


def test_the_wheel_scrolls_and_with_control_zooms(open_page: Open, digits: Path) -> None:
    page = open_page(digits / "report.html")
    box = into_view(page)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    whole, top = window(page), page.evaluate("() => scrollY")
    for _ in range(12):
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(50)
    assert window(page) == whole
    assert page.evaluate("() => scrollY") > top  # rows first, then the page
    box = into_view(page)
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 20)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    begin, end = window(page)
    assert end - begin < 0.7 * whole[1]
    assert begin + (end - begin) / 4 == pytest.approx(whole[1] / 4, rel=0.02)
    page.keyboard.down("Shift")
    page.mouse.wheel(0, 50)
    page.keyboard.up("Shift")
    moved = window(page)
    assert moved[0] > begin
    assert moved[1] - moved[0] == pytest.approx(end - begin)


def test_w_and_s_zoom_at_the_pointer_a_and_d_move(open_page: Open, digits: Path) -> None:
    page = open_page(digits / "report.html")
    box = into_view(page)
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 20)  # no focus needed: the pointer is here
    _, cycles = window(page)
    page.keyboard.press("w")
    begin, end = window(page)
    assert end - begin == pytest.approx(cycles / 2)
    assert begin + (end - begin) / 4 == pytest.approx(cycles / 4, rel=0.02)
    page.keyboard.press("d")
    assert window(page)[0] == pytest.approx(begin + (end - begin) / 8)
    page.keyboard.press("a")
    page.keyboard.press("s")
    assert window(page)[1] - window(page)[0] == pytest.approx(cycles)
    page.locator("#timeline input[type=search]").press("w")
    assert window(page)[1] - window(page)[0] == pytest.approx(cycles)


# ---- ranges


def expected(run: SavedRun, begin: int, end: int) -> dict[str, dict[str, int]]:
    """Cycles by role and by words of the kind between two cycles of a run, span by span."""
    trace, machine = run.trace, description_of(run.statistics["machine"])
    assert trace is not None
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    starts = trace.start_cycle - trace.start
    inside = np.minimum(starts + trace.cycles, end) - np.maximum(starts, begin)
    for span in np.flatnonzero(inside > 0).tolist():
        words = role(trace.tracks[trace.track[span]], machine).words
        found[words][kind_of(trace.kinds[trace.kind[span]]).words] += int(inside[span])
    return found


def check_totals(page: Any, run: SavedRun, begin: int, end: int) -> None:
    titles, rows = totals(page)
    accounts, machine = [*run.statistics["units"], *run.statistics["links"]], description_of(run.statistics["machine"])
    wanted = expected(run, begin, end)
    for words, numbers in rows.items():
        of_row = dict(zip(titles, numbers, strict=True))
        if words != "all":
            assert of_row["tracks"] == sum(role(unit["track"], machine).words == words for unit in accounts)
            assert {title: n for title, n in of_row.items() if title in wanted[words]} == wanted[words]
        assert of_row["cycles"] == (end - begin) * of_row["tracks"]
        assert sum(numbers[1:-1]) == of_row["cycles"]
    assert rows["all"][0] == len(accounts)
    for k in range(len(titles)):
        assert rows["all"][k] == sum(numbers[k] for words, numbers in rows.items() if words != "all")


@pytest.mark.parametrize("how", ["ruler", "shift"])
def test_a_dragged_range_is_added_up(open_page: Open, digits: Path, how: str) -> None:
    page, run = open_page(digits / "report.html"), load_run(digits)
    page.evaluate("() => tilesim.on('range', (range) => (document.body.dataset.range = JSON.stringify(range)))")
    plot = into_view(page)
    top = page.locator("#timeline .top").bounding_box()
    y = top["y"] + top["height"] - 8 if how == "ruler" else plot["y"] + 20
    if how == "shift":
        page.keyboard.down("Shift")
    page.mouse.move(plot["x"] + plot["width"] * 0.6, y)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] * 0.25, y, steps=5)
    page.mouse.up()
    page.keyboard.up("Shift")
    cycles = run.statistics["cycles"]
    assert window(page) == (0, cycles)
    begin, end = page.evaluate("() => [tilesim.timeline.range.chosen.from, tilesim.timeline.range.chosen.to]")
    assert (begin, end) == (pytest.approx(0.25 * cycles, rel=0.01), pytest.approx(0.6 * cycles, rel=0.01))
    assert page.evaluate("() => document.body.dataset.range") == f'{{"from":{begin},"to":{end}}}'
    check_totals(page, run, begin, end)
    page.get_by_role("button", name="Zoom to it").click()
    assert window(page) == pytest.approx((begin, end))
    page.locator("#timeline .scroller").press("Escape")
    assert page.locator("#timeline .range").is_hidden()
    assert page.evaluate("() => document.body.dataset.range") == "null"


def test_the_range_of_the_whole_run_is_what_run_json_says(open_page: Open, digits: Path) -> None:
    page, run = open_page(digits / "report.html"), load_run(digits)
    page.locator("#timeline .scroller").press("r")
    check_totals(page, run, 0, run.statistics["cycles"])
    titles, rows = totals(page)
    accounts, machine = [*run.statistics["units"], *run.statistics["links"]], description_of(run.statistics["machine"])
    for words, numbers in rows.items():
        ours = [unit for unit in accounts if words in ("all", role(unit["track"], machine).words)]
        of_row = dict(zip(titles, numbers, strict=True))
        assert of_row["busy"] == sum(unit["busy_cycles"] for unit in ours)
        assert of_row["idle"] == sum(unit["idle_cycles"] for unit in ours)
        for reason in {reason for unit in ours for reason in unit["stall_cycles"]}:
            stalled = sum(unit["stall_cycles"].get(reason, 0) for unit in ours)
            assert of_row.get(kind_of(f"stall:{reason}").words, 0) == stalled


# ---- pins


def test_pinned_tracks_stay_on_top(open_page: Open, digits: Path) -> None:
    page = open_page(digits / "report.html")
    page.get_by_role("button", name="Unfold all", exact=True).click()
    into_view(page)
    names = page.locator("#timeline .scroller .label.track")
    track = names.nth(30).get_attribute("data-track")
    names.nth(30).click()
    pinned = page.locator("#timeline .pinned .label")
    assert pinned.evaluate_all("nodes => nodes.map((node) => node.dataset.track)") == [track]
    for how in ("() => (tilesim.timeline.scroller.scrollTop = 0)", "() => (tilesim.timeline.scroller.scrollTop = 300)"):
        page.evaluate(how)
        page.wait_for_timeout(100)
        box = page.locator("#timeline .plot").bounding_box()
        assert pinned.bounding_box()["y"] == pytest.approx(box["y"], abs=1)
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 6)
        assert page.locator("#tip .track").inner_text() == track
    page.keyboard.press("m")
    assert pinned.count() == 0
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 66)
    under = page.locator("#tip .track").inner_text()
    page.keyboard.press("m")
    assert pinned.evaluate_all("nodes => nodes.map((node) => node.dataset.track)") == [under]


def test_by_keyboard_a_track_is_found_pinned_and_read(open_page: Open, digits: Path) -> None:
    page, trace = open_page(digits / "report.html"), load_run(digits).trace
    assert trace is not None
    track = "chip.tile1.ring_consumer"
    page.keyboard.press("/")
    page.keyboard.type("tile1.ring_consumer")
    page.keyboard.press("Enter")
    scroller = page.locator("#timeline .scroller")
    scroller.press("m")
    assert page.locator("#timeline .pinned .label").get_attribute("data-track") == track
    scroller.press("n")
    line = page.locator("#timeline-details").inner_text()
    ours = np.flatnonzero((trace.track == trace.tracks.index(track)) & (trace.start_cycle >= trace.start))
    begin = int(trace.start_cycle[ours[0]] - trace.start)
    assert line.startswith(f"{track} \u00b7")
    assert f"cycles {begin:,} to " in line
    scroller.press(".")
    second = int(trace.start_cycle[ours[1]] - trace.start)
    assert f"cycles {second:,} to " in page.locator("#timeline-details").inner_text()


# ---- chains


def chain_of(run: SavedRun, span: int) -> list[int]:
    """Where Enter leads from a span: to what released it; from work to the stall before it on its track; from work
    after idleness to who set its unit to work.
    """
    trace = run.trace
    assert trace is not None
    steps = [span]
    while True:
        at = steps[-1]
        after = int(trace.released_by[at])
        if after < 0:
            if trace.kinds[trace.kind[at]] != "busy":
                return steps
            while trace.kinds[trace.kind[at]] == "busy":
                joined = at > 0 and trace.track[at - 1] == trace.track[at]
                if not joined or trace.start_cycle[at - 1] + trace.cycles[at - 1] < trace.start_cycle[at]:
                    break
                at -= 1
            after = source(run, at) if trace.kinds[trace.kind[at]] == "busy" else at
        if after in (-1, *steps):
            return steps
        steps.append(after)


def source(run: SavedRun, span: int) -> int:
    """The last work with its instruction before it, of those who may have set its unit to work; -1: none."""
    trace = run.trace
    assert trace is not None
    starters = Dependences(trace.tracks, description_of(run.statistics["machine"]).dependences).started_by
    now = trace.start_cycle[span]
    ours = (trace.what == trace.what[span]) & np.isin(trace.track, starters(int(trace.track[span])))
    found = np.flatnonzero(ours & (trace.start_cycle < now) & (trace.kind == trace.kinds.index("busy")))
    if not found.size or not trace.whats[trace.what[span]]:
        return -1
    ends = np.minimum(trace.start_cycle[found] + trace.cycles[found], now)
    return int(found[np.lexsort((-found, trace.start_cycle[found], ends))[-1]])


@pytest.mark.parametrize("press", ["Enter", "To the end"])
def test_enter_walks_what_released_what_to_its_end(open_page: Open, digits: Path, press: str) -> None:
    page, run = open_page(digits / "report.html"), load_run(digits)
    assert run.trace is not None
    in_run = np.flatnonzero((run.trace.released_by >= 0) & (run.trace.start_cycle >= run.trace.start))
    chain = max((chain_of(run, span) for span in in_run[::7].tolist()), key=len)
    assert len(chain) > 5
    stall = chain[0]
    page.mouse.click(*point_at(page, run.trace, stall))
    scroller = page.locator("#timeline .scroller")
    scroller.press("Enter")
    if press == "Enter":
        for _ in chain[1:]:
            scroller.press("Enter")
    else:
        page.get_by_role("button", name="To the end").click()
    items = page.locator("#timeline .chain li").all_inner_texts()
    assert len(items) == len(chain)
    for text, span in zip(items, chain, strict=True):
        begin = f"{int(run.trace.start_cycle[span] - run.trace.start):,}".replace("-", "\u2212")
        assert run.trace.tracks[run.trace.track[span]] in text
        assert f"cycles {begin} to " in text
    said = page.locator("#timeline .chain [role=status]").inner_text()
    assert said.startswith("the end: ")
    page.locator("#timeline .chain li button").first.click()
    assert run.trace.tracks[run.trace.track[stall]] in page.locator("#timeline-details").inner_text()
    assert page.locator("#timeline .chain li").count() == 1


# ---- counters


def test_counters_are_exact(open_page: Open, digits: Path) -> None:
    page, run = open_page(digits / "report.html"), load_run(digits)
    cycles = run.statistics["cycles"]
    sums = page.evaluate(
        "(cycles) => tilesim.timeline.counters.counters.map((each) => "
        "[each.title, tilesim.timeline.counters.mean(each, 0, cycles) * cycles])",
        cycles,
    )
    found = dict(sums)
    arrays = [unit["busy_cycles"] for unit in run.statistics["units"] if unit["track"].endswith("mac_array")]
    assert found.pop("MAC arrays busy") == pytest.approx(sum(arrays) / len(arrays))
    carried = {bus: of["carried"] for bus, of in run.statistics["bytes"].items() if of["carried"]}
    assert {title.lower().replace(" ", "_"): round(total, 6) for title, total in found.items()} == carried
    means = page.evaluate(
        "() => { const { counters } = tilesim.timeline; const edges = [...Array(101).keys()].map((k) => 37.5 * k);"
        " return edges.slice(1).map((to, k) => counters.mean(counters.counters[0], edges[k], to)); }"
    )
    trace = run.trace
    assert trace is not None
    ours = [k for k, track in enumerate(trace.tracks) if track.endswith("mac_array")]
    spans = np.isin(trace.track, ours) & (trace.kind == trace.kinds.index("busy"))
    starts, edges = (trace.start_cycle - trace.start)[spans, None], 37.5 * np.arange(101)
    inside = np.minimum(starts + trace.cycles[spans, None], edges[1:]) - np.maximum(starts, edges[:-1])
    assert np.allclose(means, np.maximum(inside, 0).sum(axis=0) / 37.5 / len(ours))
    page.locator("#timeline .scroller").press("u")
    assert page.locator("#timeline .counters").is_hidden()


def test_a_counter_says_its_value_at_the_pointer(open_page: Open, digits: Path) -> None:
    page = open_page(digits / "report.html")
    into_view(page)
    box = page.locator("#timeline .curves").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    assert page.locator("#tip .track").inner_text() == "MAC arrays busy"
    assert " %, cycles " in page.locator("#tip").inner_text()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 36)
    assert " B/cycle, cycles " in page.locator("#tip").inner_text()


# ---- the address


STATE = """() => {
    const { view, selected, range, rows, counters } = tilesim.timeline;
    const open = rows.groups.filter(({ folded }) => !folded).map(({ title }) => title);
    return { from: view.from, to: view.to, selected, range: range.chosen, open, pins: rows.pins.map((row) => row.path),
        idle: rows.withIdle, byShare: rows.byShare, counters: !counters.hidden };
}"""


def test_the_address_brings_the_view_back(open_page: Open, digits: Path) -> None:
    page, run = open_page(digits / "report.html"), load_run(digits)
    assert run.trace is not None
    settled(page)
    assert page.evaluate("() => location.hash") == ""  # the view that everybody gets needs no address
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.locator("#timeline .label[title='Tile 2']").click()
    page.mouse.click(*point_at(page, run.trace, longest_stall(run.trace)))
    scroller = page.locator("#timeline .scroller")
    for key in ("m", "r", "i", "u"):
        scroller.press(key)
    page.get_by_label("order of the tracks").select_option("by name")
    page.evaluate("() => tilesim.timeline.show(120.5, 900.25)")
    settled(page)
    before, hash_ = page.evaluate(STATE), page.evaluate("() => location.hash")
    assert before["pins"]
    assert before["range"]
    assert "view=120.5~900.25" in unquote(hash_)
    assert page.evaluate("() => history.length") <= 2
    page.reload()
    page.wait_for_selector("main:not(:has(> section:not([data-ready])))", state="attached")
    settled(page)
    assert page.evaluate(STATE) == before
    assert page.evaluate("() => document.getElementById('timeline').getBoundingClientRect().top < innerHeight / 2")
    assert page.locator("#timeline .range").is_visible()
    page.evaluate("() => { location.hash = 'layers'; }")
    page.evaluate("() => history.back()")
    settled(page)
    assert page.evaluate(STATE) == before


@pytest.mark.parametrize("words", ["view=a~b&span=x&open=99.q&pin=none&range=5", "view=&span=1@%3Cb%3E", "%%%", ""])
def test_an_address_of_something_else_does_no_harm(open_page: Open, digits: Path, words: str) -> None:
    page = open_page(digits / "report.html")
    page.evaluate("(words) => { location.hash = 'timeline?' + words; }", words)
    settled(page)
    begin, end = window(page)
    assert begin < end
    assert page.locator("#timeline .fault").count() == 0


# ---- the events between sections


def test_a_span_is_gone_to_and_an_instruction_is_told(open_page: Open, digits: Path) -> None:
    page, trace = open_page(digits / "report.html"), load_run(digits).trace
    assert trace is not None
    page.evaluate(
        "() => { for (const name of ['instruction', 'visible'])"
        " tilesim.on(name, (told) => (document.body.dataset[name] = JSON.stringify(told))); }"
    )
    stall = longest_stall(trace)
    cycle, track = int(trace.start_cycle[stall] - trace.start), trace.tracks[trace.track[stall]]
    page.evaluate("(asked) => tilesim.emit('span', asked)", {"track": track, "cycle": cycle})
    assert f"{track} \u00b7" in page.locator("#timeline-details").inner_text()
    assert page.evaluate("() => JSON.parse(document.body.dataset.instruction).label") == trace.whats[trace.what[stall]]
    page.evaluate("() => tilesim.emit('window', { from: 100, to: 300 })")
    settled(page)
    assert page.evaluate("() => document.body.dataset.visible") == '{"from":100,"to":300}'
    other = next(what for what in trace.whats if what and what != trace.whats[trace.what[stall]])
    page.evaluate("(label) => tilesim.emit('instruction', { label })", other)
    assert f"\u00b7 {other} \u00b7" in page.locator("#timeline-details").inner_text()
    page.evaluate("() => tilesim.emit('cursor', { cycle: 150 })")
    assert page.evaluate("() => tilesim.timeline.followed") == 150


def test_a_range_by_keyboard_is_that_of_the_selected_span(open_page: Open, tmp_path: Path) -> None:
    trace = random_trace(7, TRACKS, 60)
    page = open_page(write(tmp_path, made_up(trace)))
    stall = longest_stall(trace)
    page.mouse.click(*point_at(page, trace, stall))
    page.locator("#timeline .scroller").press("r")
    begin = int(trace.start_cycle[stall] - trace.start)
    chosen = page.evaluate("() => tilesim.timeline.range.chosen")
    assert chosen == {"from": begin, "to": begin + int(trace.cycles[stall])}
