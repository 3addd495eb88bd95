"""A window played cycle by cycle in a real browser: what moves is what the state log and the trace have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.browser.conftest import Open
from tests.browser.test_floorplan import listened, ran
from tilesim.report.document import SavedRun, load_run
from tilesim.shipped import shipped
from tilesim.sim.trace.signals import Signals

DRAWN = """cycle => { tilesim.floorplan.play.go(cycle);
    const moving = [...document.querySelectorAll('#floorplan .packet, #floorplan .word')];
    return moving.map((it) => [it.dataset.at, it.dataset.text || '']) }"""
STATES = """cycle => { const {play, places} = tilesim.floorplan; play.go(cycle);
    const cells = places.parts.filter(({kind, track}) => kind === 'cell' && track);
    return cells.map((part) => [part.track, play.stateOf(part), play.log.text(part.track, cycle),
        play.log.count(part.track + '.fifo', cycle)]) }"""


@pytest.fixture(scope="module")
def overlap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two masters that meet, in all cycles."""
    program = shipped("workloads") / "dual-master" / "overlap.tasm"
    folder = tmp_path_factory.mktemp("overlap")
    ran(folder, str(program), "--rules", "observe", "--trace", "--signals", "0:29")
    return folder


@pytest.fixture(scope="module")
def pocket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network on two tiles, in some cycles."""
    folder = tmp_path_factory.mktemp("pocket")
    ran(folder, "pocket", "-t", "pocket-2x1", "--trace", "--signals", "0:70")
    return folder


def logged(folder: Path) -> tuple[SavedRun, Signals]:
    run = load_run(folder)
    assert run.signals
    return run, run.signals


def moving(signals: Signals, cycle: int) -> dict[str, str]:
    """What is on the ring and on the mesh in a cycle, as the picture names it."""
    found = {}
    for place, (name, (value,)) in enumerate(zip(signals.names, signals.table(range(cycle, cycle + 1)), strict=True)):
        text = signals.text(place, value)
        if text and signals.kinds[place] == "packet":
            found[name.removeprefix("chip.ring.").replace("stop", "stop ").replace("link", "link ")] = text.rsplit(
                " ", 1
            )[0]
        elif text and signals.kinds[place] == "word":
            found[name] = ""
    return found


@pytest.mark.parametrize("example", ["overlap", "pocket"])
def test_rows_and_words_are_where_the_log_has_them(
    open_page: Open, example: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(example)
    page, (_, signals) = open_page(folder / "report.html"), logged(folder)
    seen = 0
    for cycle in signals.window[:: 1 if example == "overlap" else 2]:
        drawn = dict(page.evaluate(DRAWN, cycle))
        assert drawn == moving(signals, cycle)
        seen += len(drawn)
    assert seen >= 4


def test_units_and_queues_are_as_the_trace_and_the_log_have_them(open_page: Open, pocket: Path) -> None:
    page, (run, signals) = open_page(pocket / "report.html"), logged(pocket)
    trace = run.trace
    assert trace
    places = {name: place for place, name in enumerate(signals.names)}
    for cycle in np.random.default_rng(3).choice([*signals.window], 12, replace=False).tolist():
        begun = trace.start_cycle - trace.start
        now = np.flatnonzero((begun <= cycle) & (cycle < begun + trace.cycles))
        kinds = {trace.tracks[trace.track[span]]: trace.kinds[trace.kind[span]] for span in now}
        held = signals.table(range(cycle, cycle + 1))[:, 0]
        for track, state, text, queued in page.evaluate(STATES, cycle):
            assert state == kinds.get(track, "idle")
            assert text == signals.text(places[track], held[places[track]])
            assert queued == (held[places[f"{track}.fifo"]] if f"{track}.fifo" in places else 0)


def test_flags_are_counted_beside_what_raises_them(open_page: Open, pocket: Path) -> None:
    page, (_, signals) = open_page(pocket / "report.html"), logged(pocket)
    cycle = signals.window[-1]
    page.evaluate(DRAWN, cycle)
    held = dict(zip(signals.names, signals.table(range(cycle, cycle + 1))[:, 0].tolist(), strict=True))
    raised = {
        name.split(".")[-1]: count for name, count in held.items() if name.startswith("chip.tile0.flags.") and count
    }
    assert (
        page.locator("#floorplan .flags").text_content()
        == "Flags: " + ", ".join(f"{name} {count}" for name, count in raised.items()) + "."
    )
    badges = page.locator("#floorplan .badge").all_text_contents()
    assert sum(f"\u25b8{raised['ring_read_a']}" in words for words in badges) >= 1


def test_it_begins_where_transfers_meet_and_goes_by_keys(open_page: Open, overlap: Path) -> None:
    page = open_page(overlap / "report.html")
    listened(page, "cursor")
    page.locator("#floorplan [tabindex='0'][data-part]").focus()
    for key in (".", ".", ",", ","):
        page.keyboard.press(key)
    cycles = [cursor["cycle"] for _, cursor in page.evaluate("asked")]
    assert cycles == [20, 21, 20, 19]
    page.keyboard.press(".")
    assert page.locator("#floorplan .meets").count() == 1
    assert page.locator("#floorplan .now").text_content() == "cycle 20 of 0 to 28"
    assert "row 0 of other.send from tile 1 enters ring link 2" in page.locator("#floorplan-line").text_content()
    colours = page.locator("#floorplan .packet").evaluate_all(
        "all => all.map((it) => [it.dataset.text, getComputedStyle(it).fill])"
    )
    assert len({colour for text, colour in colours if text.startswith("first")}) == 1
    assert len({colour for _, colour in colours}) == 2
    page.keyboard.press("Escape")
    assert page.locator("#floorplan .packet").count() == 0
    assert page.locator("#floorplan .meeting").is_visible()


def test_it_plays_until_it_is_stopped_or_the_window_ends(open_page: Open, overlap: Path) -> None:
    page = open_page(overlap / "report.html")
    page.locator("#floorplan-speed").select_option("30")
    page.locator("#floorplan [tabindex='0'][data-part]").focus()
    page.keyboard.press(" ")
    button = page.locator("#floorplan .play button").nth(1)
    assert button.text_content() == "Pause"
    page.locator("#floorplan .play button", has_text="Play").wait_for()
    assert page.locator("#floorplan-cycle").input_value() == "28"
    page.locator("#floorplan-cycle").fill("4")
    assert page.locator("#floorplan .now").text_content() == "cycle 4 of 0 to 28"
    button.click()
    page.keyboard.press("Space")
    assert button.text_content() == "Play"
    page.locator("#floorplan-metric").select_option("bytes")
    assert page.locator("#floorplan .played").count() == 0


def test_who_wants_less_motion_gets_a_cycle_a_second_and_all_that_there_is_to_read(
    open_page: Open, overlap: Path
) -> None:
    page = open_page(overlap / "report.html", reduced_motion="reduce")
    assert page.locator("#floorplan-speed").input_value() == "1"
    page.evaluate(DRAWN, 20)
    page.locator("#floorplan [aria-label='tile 1, ring producer']").hover()
    assert page.locator("#tip").text_content() == "tile 1, ring producercycle 20: busyother.send"
    assert page.locator("#floorplan .state h3").text_content() == "Tile 1 in cycle 20"
    row = page.locator("#floorplan .state tr[data-track='chip.tile1.ring_producer'] td").all_text_contents()
    assert row == ["ring producer", "busy", "other.send", ""]


def test_without_a_log_there_is_nothing_to_play(open_page: Open, digits: Path) -> None:
    assert open_page(digits / "report.html").locator("#floorplan .play").count() == 0
