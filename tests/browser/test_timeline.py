"""The timeline in a real browser: what it shows and says is what the trace holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import Open
from tests.report.saved import made_up, random_trace
from tests.soak import part_of
from tilesim.report.document import SavedRun, load_run
from tilesim.report.page.build import page as built
from tilesim.report.page.timeline import stacked, timeline
from tilesim.report.tracks import kind_of
from tilesim.sim.trace.trace import Trace

TRACKS = tuple(f"chip.{unit}" for unit in ("ring.link0", "ring.link1", "tile0.tensor", "tile0.mac_array"))
NO_MACS = {"macs": 0, "mac_busy_cycles": 0}
LONG = "</script><script>alert(1)</script>"
SCRIPT = "<script>alert(1)</script>"

# Each row's name, and the share of each kind in each pixel of a window, as they are drawn.
SHARES = """([from, to]) => {
    const timeline = tilesim.timeline, { painter } = timeline;
    timeline.show(from, to);
    return timeline.rows.shown.filter((row) => row.track >= 0).map((row) => {
        const kinds = painter.kindsIn(row, timeline.view, timeline.view.width / painter.across);
        const drawn = painter.shares.map((each, kind) => (kinds.includes(kind) ? [...each] : each.map(() => 0)));
        const name = timeline.spans.tracks[row.track];
        return { name, group: row.group.title, isGroup: row.isGroup, drawn: drawn.map((each) => [...each]) };
    });
}"""
# The colours of the track's row in 16 cycles.
PIXELS = """() => {
    const { painter, rows } = tilesim.timeline;
    const line = Math.round((rows.indexOf(0) * 15 + 8) * painter.ratio) + painter.margin;
    const at = (cycle) => line * painter.across + Math.round(((cycle + 0.9) / 16) * painter.across);
    return [...Array(16).keys()].map((k) => [...painter.image.data.slice(4 * at(k), 4 * at(k) + 3)]);
}"""
# What the trace says of each track, summed over the run.
SUMS = """() => {
    const { data, rows } = tilesim.timeline;
    const cycles = (share) => Math.round(share * data.cycles * 1e6) / 1e6;
    return rows.parts.flat().map((row) => [row.path, row.mix(0, data.cycles).map(cycles)]);
}"""
# Where the middle of a track's row, and of a span in it, is in the picture.
PLACE = """([track, cycle]) => {
    return [tilesim.timeline.x(cycle), tilesim.timeline.y(track, true) + 6];
}"""
ASK = """() => {
    tilesim.emit("window", { from: 100, to: 300 });
    tilesim.emit("track", { name: "chip.tile1.tensor" });
}"""
# Each layer's text as it is drawn, and where it begins and ends; nothing of one without room.
TEXTS = """() => {
    const { head, view, painter, width } = tilesim.timeline, { context } = head, found = [];
    const write = context.fillText.bind(context);
    context.fillText = (text, x, y) => (found.push([text, x, x + context.measureText(text).width]), write(text, x, y));
    const drawn = head.lanes.map((lane) => {
        found.length = 0;
        head.lane(lane, painter.palette, (cycle) => ((cycle - view.from) / view.width) * width, width);
        return [Number(lane.number), found[0] || ["", 0, 0]];
    });
    delete context.fillText;
    return drawn.sort((a, b) => a[0] - b[0]).map(([, text]) => text);
}"""
WINDOW = "() => [tilesim.timeline.view.from, tilesim.timeline.view.to]"


def write(folder: Path, run: SavedRun) -> Path:
    path = folder / "timeline.html"
    path.write_text(built("a title", "a subtitle", [timeline(run)]), encoding="utf-8")
    return path


def exact(trace: Trace, tracks: list[str], edges: np.ndarray) -> Iterator[np.ndarray]:
    """The share of each kind between ``edges``, averaged over tracks, span by span."""
    ours = np.isin(trace.track, [trace.tracks.index(track) for track in tracks])
    for kind in stacked(trace.kinds):
        spans = ours & (trace.kind == trace.kinds.index(kind))
        starts = trace.start_cycle[spans, None] - trace.start
        ends = starts + trace.cycles[spans, None]
        inside = np.minimum(ends, edges[1:]) - np.maximum(starts, edges[:-1])
        yield np.maximum(inside, 0).sum(axis=0) / np.diff(edges) / len(tracks)


@pytest.mark.parametrize("window", [(0, 400), (-50, 350), (100, 116), (117.25, 260.75)])
def test_every_pixel_has_the_exact_share_of_every_kind(open_page: Open, tmp_path: Path, window: Any) -> None:
    trace = random_trace(5, TRACKS, 80, start=60)
    page = open_page(write(tmp_path, made_up(trace)))
    page.get_by_role("button", name="Unfold all", exact=True).click()
    rows = page.evaluate(SHARES, list(window))
    assert page.evaluate(WINDOW) == pytest.approx(window)
    assert sorted(row["name"] for row in rows) == sorted(TRACKS)
    for row in rows:
        edges = np.linspace(*window, len(row["drawn"][0]) + 1)
        assert np.allclose(row["drawn"], list(exact(trace, [row["name"]], edges)), atol=1e-6)


@pytest.mark.parametrize("window", [(0, 400), (100, 116), (320.5, 380.5)])
def test_a_folded_group_shows_its_busiest_track_and_names_it(open_page: Open, tmp_path: Path, window: Any) -> None:
    tracks = (*TRACKS[:2], "chip.tile0.tensor", "chip.tile0.ring_producer")
    trace = random_trace(5, tracks, 80)
    page = open_page(write(tmp_path, made_up(trace)))
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.evaluate("([from, to]) => tilesim.timeline.show(from, to)", list(window))
    page.wait_for_timeout(300)
    rows = page.evaluate(SHARES, list(window))
    assert {row["group"] for row in rows if row["isGroup"]} == {"Ring bus", "Tile 0"}
    for row, members in zip(sorted(rows, key=lambda row: row["group"]), (tracks[:2], tracks[2:]), strict=True):
        busy = {track: float(next(exact(trace, [track], np.array(window)))[0]) for track in members}
        assert busy[row["name"]] == pytest.approx(max(busy.values()))
        label = page.locator("#timeline .label.group", has_text=row["group"])
        assert row["name"].rpartition(".")[2].replace("link", "link ").replace("_", " ") in label.inner_text()
        assert f"{100 * busy[row['name']]:.1f} %" in label.inner_text()


def test_pixels_have_the_colours_of_the_kinds(open_page: Open, tmp_path: Path) -> None:
    trace = random_trace(5, TRACKS[:1], 40, longest=40)
    page = open_page(write(tmp_path, made_up(trace)))
    page.evaluate("() => tilesim.timeline.show(0, 16)")
    page.wait_for_timeout(100)
    seen = page.evaluate(PIXELS)
    palette = page.evaluate("() => tilesim.timeline.painter.palette")
    colours = dict(zip(stacked(trace.kinds), palette["kinds"], strict=True))
    for cycle, colour in enumerate(seen):
        now = (trace.start_cycle <= cycle) & (cycle < trace.start_cycle + trace.cycles)
        kind = trace.kinds[trace.kind[now][0]] if now.any() else None
        assert colour == (colours[kind] if kind else palette["idle"])


def longest_stall(trace: Trace) -> int:
    """Of those that something of another track released."""
    known = (trace.released_by >= 0) & (trace.start_cycle >= trace.start)
    known &= trace.track != trace.track[trace.released_by]
    return int(np.argmax(np.where(known, trace.cycles, -1)))


def point_at(page: Any, trace: Trace, span: int) -> tuple[float, float]:
    """Bring a span into the middle of the window, and the pointer over it; where that is."""
    start, cycles = int(trace.start_cycle[span] - trace.start), int(trace.cycles[span])
    page.evaluate("([from, to]) => tilesim.timeline.show(from, to)", [start - 2 * cycles - 9, start + 3 * cycles + 9])
    page.evaluate("(track) => tilesim.timeline.scrollTo(track)", int(trace.track[span]))
    page.wait_for_timeout(100)
    page.locator("#timeline .scroller").scroll_into_view_if_needed()
    x, y = page.evaluate(PLACE, [int(trace.track[span]), start + cycles / 2])
    box = page.locator("#timeline .plot").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    return box["x"] + x, box["y"] + y


def facts(trace: Trace, span: int) -> Mapping[str, str]:
    start, cycles = int(trace.start_cycle[span] - trace.start), int(trace.cycles[span])
    window = f"cycles {start:,} to {start + cycles:,}".replace("-", "\u2212")
    return {"track": trace.tracks[trace.track[span]], "what": trace.whats[trace.what[span]], "window": window}


def handled(page: Any, trace: Trace) -> None:
    """Point at a stall, read its tooltip, click it, follow what released it, and search for that."""
    page.locator("#timeline .scroller").scroll_into_view_if_needed()
    stall = longest_stall(trace)
    releasing = int(trace.released_by[stall])
    point_at(page, trace, stall)
    shown = page.locator("#tip").inner_text()
    kind = kind_of(trace.kinds[trace.kind[stall]])
    for fact in (*facts(trace, stall).values(), *kind, *facts(trace, releasing).values()):
        assert fact in shown
    line = page.locator("#timeline-details")
    page.mouse.down()
    page.mouse.up()
    assert all(fact in line.inner_text() for fact in (*facts(trace, stall).values(), kind.words))
    page.locator("#timeline .scroller").press("Enter")
    assert line.inner_text().startswith(f"{facts(trace, releasing)['track']} ")
    assert all(fact in line.inner_text() for fact in facts(trace, releasing).values())
    begin, end = page.evaluate(WINDOW)
    assert begin <= trace.start_cycle[releasing] - trace.start
    assert trace.start_cycle[releasing] + trace.cycles[releasing] - trace.start <= end

    what = facts(trace, releasing)["what"]
    search = page.locator("#timeline input[type=search]")
    search.fill(what)
    found = [k for k, name in enumerate(trace.whats) if what in name]
    count = int(np.isin(trace.what, found).sum())
    assert f"{count:,} span" in page.locator("#timeline .found-count").inner_text()
    search.press("Enter")
    first = int(trace.start_cycle[np.isin(trace.what, found)].min() - trace.start)
    assert f"cycles {first:,} to ".replace("-", "\u2212") in line.inner_text()
    search.press("Escape")
    assert line.inner_text().startswith("Point at a span")


def moved(page: Any, cycles: int) -> None:
    """Zoom at the pointer, drag, press keys, and come back to the whole run."""
    scroller = page.locator("#timeline .scroller")
    scroller.scroll_into_view_if_needed()
    box = page.locator("#timeline .plot").bounding_box()
    scroller.press("Home")
    page.evaluate("(cycles) => tilesim.timeline.show(0, cycles)", cycles)
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 20)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -500)
    page.keyboard.up("Control")
    page.wait_for_timeout(100)
    begin, end = page.evaluate(WINDOW)
    assert end - begin < 0.6 * cycles
    assert begin + (end - begin) / 4 == pytest.approx(cycles / 4, rel=0.02)  # what was under the pointer still is
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 4 - 100, box["y"] + 20, steps=4)
    page.mouse.up()
    after = page.evaluate(WINDOW)
    assert after[0] - begin == pytest.approx(100 * (end - begin) / box["width"])
    scroller.press("ArrowRight")
    assert page.evaluate(WINDOW)[0] - after[0] == pytest.approx((end - begin) / 8)
    scroller.press("+")
    assert np.diff(page.evaluate(WINDOW))[0] == pytest.approx((end - begin) / 2)
    scroller.press("Home")
    assert page.evaluate(WINDOW) == [0, cycles]
    scroller.press("Home")
    assert page.evaluate(WINDOW)[0] <= 0


def test_a_made_up_run_is_handled(open_page: Open, tmp_path: Path) -> None:
    trace = random_trace(7, TRACKS, 60)
    handled(open_page(write(tmp_path, made_up(trace))), trace)


def test_the_run_of_digits(open_page: Open, digits: Path) -> None:
    run = load_run(digits)
    assert run.trace is not None
    page = open_page(digits / "report.html")
    assert page.locator("#timeline .note").count() == 0
    moved(page, run.statistics["cycles"])
    handled(page, run.trace)
    accounts = {each["track"]: each for each in (*run.statistics["units"], *run.statistics["links"])}
    sums = page.evaluate(SUMS)
    kinds = stacked(run.trace.kinds)
    for track, cycles in sums:
        account = accounts[track]
        expected = {"busy": account["busy_cycles"], **{f"stall:{k}": n for k, n in account["stall_cycles"].items()}}
        assert {kind: n for kind, n in zip(kinds, cycles, strict=True) if n} == {k: n for k, n in expected.items() if n}


def test_groups_fold(open_page: Open, digits: Path) -> None:
    page = open_page(digits / "report.html")
    tile = page.locator("#timeline .label[title='Tile 0']")
    page.get_by_role("button", name="Fold all", exact=True).click()
    assert tile.get_attribute("aria-expanded") == "false"
    folded = page.locator("#timeline .scroller .label").count()
    tile.click()
    assert tile.get_attribute("aria-expanded") == "true"
    assert page.locator("#timeline .scroller .label").count() > folded
    assert page.locator("#timeline .label", has_text="ring consumer").count() >= 1


def test_it_opens_on_the_mac_arrays_and_hides_who_was_idle(open_page: Open, digits: Path) -> None:
    page, statistics = open_page(digits / "report.html"), load_run(digits).statistics
    accounts = [*statistics["units"], *statistics["links"]]
    first = page.locator("#timeline .scroller .label").all_inner_texts()[:5]
    assert first[0].strip() == "\u25be MAC arrays"
    assert sorted(text.split("\n")[0].strip() for text in first[1:]) == [f"tile {k}" for k in range(4)]
    assert page.locator("#timeline .scroller .label").count() <= 44
    without = [
        unit["track"]
        for unit in accounts
        if not unit["busy_cycles"] + sum(n for reason, n in unit["stall_cycles"].items() if reason != "work")
    ]
    idle = page.get_by_role("button", name=f"{len(without)} idle track")
    page.get_by_role("button", name="Unfold all", exact=True).click()
    shown = page.locator("#timeline .scroller .label.track")
    assert shown.count() == len(accounts) - len(without)
    idle.click()
    assert idle.get_attribute("aria-pressed") == "true"
    assert shown.count() == len(accounts)
    page.locator("#timeline .scroller").press("i")
    assert shown.count() == len(accounts) - len(without)


def test_tracks_stand_in_the_order_of_their_shares_or_of_their_names(open_page: Open, digits: Path) -> None:
    page = open_page(digits / "report.html")
    page.get_by_role("button", name="Unfold all", exact=True).click()
    data = page.evaluate("() => tilesim.timeline.data")
    shares = dict(zip(data["tracks"], zip(data["shares"], data["waits"], strict=True), strict=True))
    names = "nodes => nodes.map((node) => node.dataset.track)"
    tiles = [
        [
            track
            for track in page.locator("#timeline .scroller .label.track").evaluate_all(names)
            if f"tile{k}." in track and "mesh.tile" not in track
        ]
        for k in range(4)
    ]
    for tracks in tiles:
        ours = [shares[track] for track in tracks if not track.endswith("mac_array")]
        assert ours == sorted(ours, reverse=True)
        assert len(set(ours)) > 3
    page.get_by_label("order of the tracks").select_option("by name")
    links = [
        track for track in page.locator("#timeline .scroller .label.track").evaluate_all(names) if "ring.link" in track
    ]
    assert links == sorted(links, key=lambda track: int(track.rpartition("link")[2]))


def test_units_are_found_by_their_tracks_and_by_what_they_are_called(open_page: Open, digits: Path) -> None:
    page = open_page(digits / "report.html")
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.keyboard.press("/")
    for query, tracks in (("tile1.ring_consumer", 1), ("tile 1 ring consumer", 1), ("RING_CONSUMER", 4)):
        page.keyboard.type(query)
        assert page.locator("#timeline .found-count").inner_text() == f"{tracks} track{'s' * (tracks > 1)}; Enter: next"
        page.keyboard.press("Enter")
        assert "ring_consumer" in (page.locator("#timeline .label.flash").last.get_attribute("data-track") or "")
        page.keyboard.press("Escape")
    page.keyboard.type("no such thing")
    assert page.locator("#timeline .found-count").inner_text() == "nothing found"


def test_keys_fill_the_picture_with_a_span_and_go_to_the_next(open_page: Open, digits: Path) -> None:
    trace = load_run(digits).trace
    assert trace is not None
    page, stall = open_page(digits / "report.html"), longest_stall(trace)
    page.mouse.click(*point_at(page, trace, stall))
    page.locator("#timeline .scroller").press("z")
    begin, end = page.evaluate(WINDOW)
    assert end - begin == pytest.approx(max(16, 1.2 * trace.cycles[stall]))
    page.locator("#timeline .scroller").press("n")
    after = stall + 1 if trace.track[stall + 1] == trace.track[stall] else stall
    assert all(fact in page.locator("#timeline-details").inner_text() for fact in facts(trace, after).values())
    page.locator("#timeline .scroller").press("p")
    assert all(fact in page.locator("#timeline-details").inner_text() for fact in facts(trace, stall).values())


def test_other_sections_can_ask_for_a_window_and_a_track(open_page: Open, digits: Path) -> None:
    page = open_page(digits / "report.html")
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.evaluate(ASK)
    assert page.evaluate(WINDOW) == [100, 300]
    assert page.locator("#timeline .label.flash").get_attribute("data-track") == "chip.tile1.tensor"


@pytest.mark.parametrize("width", [900, 1600])
def test_layers_have_names_that_fit(open_page: Open, tmp_path: Path, width: int) -> None:
    trace, rng = random_trace(7, TRACKS, 200), np.random.default_rng(3)
    layers = [
        {
            "name": f"network/block_{k}/expanded_conv_{k}/project", "kind": "convolution", "bound_by": "macs",
            **NO_MACS, "start_cycle": 9 * k, "cycles": int(rng.integers(1, 300)),
        }
        for k in range(40)
    ]  # fmt: skip
    page = open_page(write(tmp_path, made_up(trace, layers=layers)), viewport={"width": width, "height": 900})
    drawn = page.evaluate(TEXTS)
    assert len(drawn) == len(layers)
    kinds = {"name": 0, "end": 0, "kind": 0, "number": 0, "": 0}
    for (text, left, right), layer in zip(drawn, layers, strict=True):
        assert right - left <= layer["cycles"] / trace_cycles(trace) * page.evaluate("() => tilesim.timeline.width") + 1
        rest = text.partition(" ")[2]
        short = layer["name"].partition("/")[2]
        how = (
            "end" if rest.startswith("\u2026") else "kind" if rest == "conv" else "name" if rest else text and "number"
        )
        assert how not in ("end", "name") or short.endswith(rest.removeprefix("\u2026"))
        kinds[how] += 1
    assert all(kinds[how] for how in ("end", "number", ""))
    lanes = page.evaluate(
        "() => tilesim.timeline.head.lanes.map(({ start, cycles, lane }) => [lane, start, start + cycles])"
    )
    for a, b in pairwise(sorted(lanes)):
        assert a[0] != b[0] or a[2] <= b[1]
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def trace_cycles(trace: Trace) -> int:
    return int((trace.start_cycle + trace.cycles).max()) - trace.start


def test_light_and_dark(open_page: Open, digits: Path) -> None:
    backgrounds = set()
    for scheme in ("light", "dark"):
        page = open_page(digits / "report.html", color_scheme=scheme)
        background = "() => getComputedStyle(document.body).backgroundColor"
        before, palette = page.evaluate(background), page.evaluate("() => tilesim.timeline.painter.palette.background")
        page.locator("#theme").click()
        assert page.evaluate(background) != before
        assert page.evaluate("() => tilesim.timeline.painter.palette.background") != palette
        backgrounds.add(before)
    assert len(backgrounds) == 2


def test_names_show_as_text(open_page: Open, tmp_path: Path) -> None:
    trace = random_trace(7, TRACKS, 60)
    names = tuple(f"{LONG}{k}" for k in range(len(trace.whats)))
    tracks = tuple(f"chip.{SCRIPT}.{k}" for k in range(4))
    evil = replace(trace, whats=names, layers=(SCRIPT, LONG), tracks=tracks)
    layer = {"name": SCRIPT, "kind": SCRIPT, "start_cycle": 0, "cycles": 99, "bound_by": SCRIPT, **NO_MACS}
    run = made_up(evil, layers=[layer], network=SCRIPT)
    page = open_page(write(tmp_path, run))
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message) or dialog.dismiss())
    stall = longest_stall(evil)
    point_at(page, evil, stall)
    shown = page.locator("#tip").inner_text()
    assert evil.whats[evil.what[stall]] in shown
    assert evil.tracks[evil.track[stall]] in shown
    page.mouse.down()
    page.mouse.up()
    assert evil.whats[evil.what[stall]] in page.locator("#timeline-details").inner_text()
    page.mouse.move(*(page.locator("#timeline .top").bounding_box()[side] + 5 for side in "xy"))
    assert SCRIPT in page.locator("#tip").inner_text()
    assert page.evaluate("() => [...document.scripts].filter((each) => !each.type).length") == 2
    assert dialogs == []


@pytest.mark.parametrize("units", [0, 2])
def test_a_trace_without_spans(open_page: Open, tmp_path: Path, units: int) -> None:
    idle = [{"track": f"chip.tile{k}.tensor", "busy_cycles": 0, "stall_cycles": {}} for k in range(units)]
    empty = replace(
        random_trace(1, TRACKS, 0), tracks=(), kinds=(), whats=(), layers=(), layer_of=np.zeros(0, np.int32)
    )
    page = open_page(write(tmp_path, replace(made_up(None, units=idle), trace=empty)))
    if units:
        page.get_by_role("button", name="2 idle tracks").click()
    assert page.locator("#timeline .label.track").count() == units
    page.locator("#timeline .scroller").press("+")
    page.locator("#timeline input[type=search]").fill("x")
    page.locator("#timeline input[type=search]").press("Enter")
    box = page.locator("#timeline .plot").bounding_box()
    page.mouse.click(box["x"] + 50, box["y"] + 20)
    assert page.locator("#timeline .fault").count() == 0


def test_without_a_trace_it_says_how_to_get_one(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write(tmp_path, made_up(None)))
    assert "--trace" in page.locator("#timeline").inner_text()


def opens_readably(page: Any) -> None:
    """The MAC arrays of all tiles first, then every other group as its busiest track, and nobody who is idle."""
    labels = [label.strip() for label in page.locator("#timeline .scroller .label").all_inner_texts()]
    assert labels[0] == "\u25be MAC arrays"
    assert sorted(label.split("\n")[0] for label in labels[1:17]) == sorted(f"tile {k}" for k in range(16))
    assert all("\u25b8" in label or label.startswith("Classifier") for label in labels[17:])
    assert len(labels) <= 44
    shares = page.evaluate("() => tilesim.timeline.rows.shown.map((row) => row.mix(0, tilesim.timeline.data.cycles))")
    assert all(sum(mix) > 0 for mix in shares[1:])


@pytest.mark.slow
@pytest.mark.parametrize("name", part_of(["mlperf_resnet8", "coral_tf2_mnv2_ptq"], 1))
def test_the_run_of_a_real_model(open_page: Open, models: Path, tmp_path: Path, name: str) -> None:
    from typer.testing import CliRunner

    from tilesim.cli import app

    (model,) = (models / name).glob("*.tflite")
    for words in (("run", model, "--topology", "edge-4x4", "--trace", "--out", tmp_path), ("report", tmp_path)):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
    run = load_run(tmp_path)
    assert run.trace is not None
    assert (tmp_path / "report.html").stat().st_size <= 3_000_000
    page = open_page(tmp_path / "report.html")
    opens_readably(page)
    moved(page, run.statistics["cycles"])
    handled(page, run.trace)
