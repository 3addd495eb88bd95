"""The floorplan in a real browser: what it shows of units, links, layers and findings is run.json's and the trace's."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.browser.conftest import Open
from tilesim.cli import app
from tilesim.report.analysis.floorplan import Grid
from tilesim.report.analysis.ownership import layer_maps
from tilesim.report.analysis.spans import run_spans
from tilesim.shipped import shipped
from tilesim.sim.trace.trace import Trace

MAC_ARRAY = "#floorplan [aria-label='tile 0, MAC array']"
NUMBERS = """window => tilesim.floorplan.places.parts.filter(({track}) => track).map(({track}) =>
    [track, tilesim.floorplan.numbers.cyclesOf(track, 'busy', window),
     tilesim.floorplan.numbers.cyclesOf(track, 'waiting', window), tilesim.floorplan.numbers.bytesOf(track, window)])"""


def ran(folder: Path, *words: str) -> Path:
    """The page of a run."""
    for each in (("run", *words, "--out", str(folder)), ("report", str(folder))):
        result = CliRunner().invoke(app, list(each))
        assert result.exit_code == 0, result.output
    return folder / "report.html"


@pytest.fixture
def page(open_page: Open, digits: Path) -> Any:
    return open_page(digits / "report.html")


@pytest.fixture
def statistics(digits: Path) -> Any:
    return json.loads((digits / "run.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def overlap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two masters that meet."""
    program = shipped("workloads") / "dual-master" / "overlap.tasm"
    return ran(tmp_path_factory.mktemp("overlap"), str(program), "--rules", "observe", "--trace")


def listened(page: Any, *names: str) -> None:
    listed = ", ".join(f"'{name}'" for name in names)
    page.evaluate(f"window.asked = []; for (const name of [{listed}]) tilesim.on(name, (it) => asked.push([name, it]))")


def test_every_unit_and_link_has_its_place_once_and_the_numbers_of_run_json(page: Any, statistics: Any) -> None:
    tracks = page.evaluate("tilesim.floorplan.places.parts.map(({track}) => track).filter(Boolean)")
    assert sorted(tracks) == sorted(unit["track"] for unit in (*statistics["units"], *statistics["links"]))
    assert page.locator("#floorplan [data-part]").count() == len(tracks) + 4 * 3
    found = {track: rest for track, *rest in page.evaluate(NUMBERS, {"from": 0, "to": statistics["cycles"]})}
    for unit in (*statistics["units"], *statistics["links"]):
        waits = sum(cycles for reason, cycles in unit["stall_cycles"].items() if reason != "work")
        assert found[unit["track"]][:2] == [unit["busy_cycles"], waits]
    assert {link["track"]: link["bytes"] for link in statistics["links"]} == {
        link["track"]: found[link["track"]][2] for link in statistics["links"]
    }


def test_numbers_of_any_range_are_the_traces(page: Any, digits: Path, statistics: Any) -> None:
    trace, rng = Trace.load(digits / "trace.npz"), np.random.default_rng(5)
    tracks = [unit["track"] for unit in (*statistics["units"], *statistics["links"])]
    spans, busy = run_spans(statistics, trace, tracks), trace.kinds.index("busy")
    for _ in range(8):
        start, end = sorted(rng.choice(statistics["cycles"] + 1, 2, replace=False).tolist())
        found = {track: rest for track, *rest in page.evaluate(NUMBERS, {"from": start, "to": end})}
        edges = np.array([start, end])
        for track in tracks:
            assert found[track][0] == spans[track].where(spans[track].kind == busy).per_bin(edges)[0]


def test_a_part_that_is_pointed_at_tells_its_numbers(page: Any, statistics: Any) -> None:
    page.locator(MAC_ARRAY).hover()
    busy = next(unit["busy_cycles"] for unit in statistics["units"] if unit["track"] == "chip.tile0.mac_array")
    share = f"{busy:,} cycles ({100 * busy / statistics['cycles']:.1f} %)"
    assert f"tile 0, MAC arraybusy: {share}" in page.locator("#tip").text_content()
    assert f"busy {share}" in page.locator("#floorplan-line").text_content()
    page.locator("#floorplan [aria-label='tile 0, wide memory']").hover()
    assert re.search(r"wide read: [0-9,]+ accesses in the whole run", page.locator("#tip").text_content())


def test_colours_follow_the_dragged_range_and_what_the_timeline_shows(page: Any) -> None:
    scale = page.locator("#floorplan .scale")
    whole = page.locator(MAC_ARRAY).evaluate("it => it.style.getPropertyValue('--paint')")
    page.evaluate("tilesim.emit('range', {from: 100, to: 140})")
    assert page.locator("#floorplan input[value='range']").is_checked()
    assert (scale.get_attribute("data-from"), scale.get_attribute("data-to")) == ("100", "140")
    assert page.locator(MAC_ARRAY).evaluate("it => it.style.getPropertyValue('--paint')") != whole
    page.evaluate("tilesim.emit('range', null)")
    assert page.locator("#floorplan input[value='run']").is_checked()
    assert page.locator("#floorplan input[value='range']").is_disabled()
    page.evaluate("tilesim.emit('visible', {from: -50, to: 77.5})")
    page.locator("#floorplan input[value='visible']").check()
    assert (scale.get_attribute("data-from"), scale.get_attribute("data-to")) == ("0", "78")


def test_colours_may_be_of_a_reason_or_of_bytes(page: Any) -> None:
    chooser = page.locator("#floorplan-metric")
    values = chooser.locator("option").evaluate_all("all => all.map((it) => it.value)")
    assert values[:2] == ["busy", "waiting"]
    assert values[-1] == "bytes"
    assert "stall:flag" in values
    for value in values:
        chooser.select_option(value)
        assert page.locator(MAC_ARRAY).evaluate("it => getComputedStyle(it).fill").startswith(("color", "rgb"))
    assert re.fullmatch(r"0[0-9.]+ [KM]iB, cycles 0 to [0-9,]+", page.locator("#floorplan .scale").text_content())
    assert page.locator("#floorplan .unknown").count() == 4 * 3, "ports of memories"


def test_a_click_or_enter_leads_to_the_timeline_and_arrows_to_the_next_part(page: Any) -> None:
    listened(page, "track")
    page.locator(MAC_ARRAY).click()
    page.locator(MAC_ARRAY).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("asked") == [["track", {"name": "chip.tile0.mac_array"}]] * 2
    names = []
    for key in ("ArrowDown", "ArrowLeft", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
        names.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert names[0] == "tile 0, tensor control"
    assert names[1] == "tile 0, wide memory"
    assert all(name.startswith("tile 0") for name in names)
    assert page.locator("#floorplan [tabindex='0'][data-part]").count() == 1


def test_what_others_choose_is_marked(page: Any) -> None:
    chosen = page.locator("#floorplan .part.chosen")
    page.evaluate("tilesim.emit('track', {name: 'chip.tile3.tensor'})")
    assert chosen.get_attribute("aria-label") == "tile 3, tensor control"
    label = page.evaluate("tilesim.floorplan.numbers.recorded.whats.find((it) => it.startsWith('convolution'))")
    page.evaluate("label => tilesim.emit('instruction', {label})", label)
    assert {name.split(", ")[1] for name in chosen.evaluate_all("all => all.map((it) => it.ariaLabel)")} >= {
        "MAC array", "tensor control"
    }  # fmt: skip


def test_ranges_and_selections_of_the_timeline_arrive(page: Any, digits: Path) -> None:
    scale = page.locator("#floorplan .scale")
    page.evaluate("tilesim.emit('window', {from: 300, to: 420})")
    page.locator("#timeline .scroller").press("r")
    assert page.locator("#floorplan input[value='range']").is_checked()
    assert (scale.get_attribute("data-from"), scale.get_attribute("data-to")) == ("300", "420")
    span = page.evaluate("tilesim.timeline.spans.what.findIndex((what) => tilesim.timeline.spans.whats[what])")
    page.evaluate("span => tilesim.timeline.select(span)", span)
    chosen = page.evaluate("[...document.querySelectorAll('#floorplan .chosen')].map((it) => Number(it.dataset.part))")
    tracks = page.evaluate("tilesim.floorplan.places.parts.map(({track}) => track)")
    label = page.evaluate("span => tilesim.timeline.spans.whats[tilesim.timeline.spans.what[span]]", span)
    trace = Trace.load(digits / "trace.npz")
    wanted = {trace.tracks[track] for track in trace.track[trace.what == trace.whats.index(label)]}
    assert {tracks[place] for place in chosen} == wanted


def test_a_range_in_the_address_is_there_from_the_beginning(page: Any, digits: Path) -> None:
    page.evaluate("tilesim.emit('window', {from: 300, to: 420})")
    page.locator("#timeline .scroller").press("r")
    page.wait_for_timeout(400)
    address = page.evaluate("location.hash")
    assert address
    again = page.context.new_page()
    again.goto((digits / "report.html").resolve().as_uri() + address)
    again.wait_for_selector("#floorplan[data-ready]")
    again.wait_for_selector("#timeline[data-ready]")
    assert again.locator("#floorplan input[value='range']").is_checked()


def test_the_parts_of_a_layer_and_its_halo_are_the_runs(page: Any, digits: Path, statistics: Any) -> None:
    trace, grid = Trace.load(digits / "trace.npz"), Grid(2, 2)
    for cut in layer_maps(statistics, grid):
        page.locator("#floorplan-layer").select_option(str(cut.layer))
        page.locator("#floorplan details summary").click()
        page.locator("#floorplan .rows").wait_for()
        rows = page.locator("#floorplan .rows tbody tr").all()
        cells = [[int(row.get_attribute("data-tile")), *row.locator("td").all_text_contents()[1:]] for row in rows]
        made = {tile: cut.part(tile, grid) for tile in range(4) if all(cut.part(tile, grid))}
        assert [[tile, *map(words, made[tile])] for tile in made] == [cell[:4] for cell in cells]
        assert page.locator("#floorplan .slice").count() == len(made) == page.locator("#floorplan .plate").count()
        got, sent = halo(trace, cut.layer)
        assert {cell[0]: (int(cell[4]), int(cell[5])) for cell in cells} == {
            tile: (got[tile], sent[tile]) for tile in made
        }
        assert sum(sent.values()) == statistics["layers"][cut.layer]["bytes"]["mesh"]["entered"]
    assert sum(halo(trace, layer.layer)[0].total() for layer in layer_maps(statistics, grid)) > 0


def words(positions: range) -> str:
    return str(positions[0]) if len(positions) == 1 else f"{positions[0]}\u2013{positions[-1]}"


def halo(trace: Trace, layer: int) -> tuple[Counter[int], Counter[int]]:
    """Bytes that each tile of a grid of two columns got and sent over the mesh for a layer."""
    got: Counter[int] = Counter()
    sent: Counter[int] = Counter()
    for track, what, moved in zip(trace.track, trace.what, trace.bytes, strict=True):
        link = re.fullmatch(r"chip\.mesh\.tile([0-9]+)\.(.*)", trace.tracks[track])
        if link and trace.layer_of[what] == layer:
            sent[int(link[1])] += int(moved)
            got[int(link[1]) + {"north": -2, "south": 2, "east": 1, "west": -1}[link[2]]] += int(moved)
    return got, sent


def test_a_meeting_is_at_its_stop_in_both_masters_colours(open_page: Open, overlap: Path) -> None:
    page = open_page(overlap)
    assert page.locator("#floorplan .meeting").get_attribute("data-node") == "tile 1"
    assert page.locator("#floorplan .found").text_content() == "meet in cycle 20"
    drawn = page.locator("#floorplan .occupied").evaluate_all(
        "all => all.map((it) => [it.dataset.master, getComputedStyle(it).stroke])"
    )
    assert [master for master, _ in drawn] == ["tile 0", "tile 0", "tile 1", "tile 1"]
    assert drawn[0][1] == drawn[1][1] != drawn[2][1] == drawn[3][1]
    assert "first.send from tile 0, occupies tile 0 to tile 2" in page.locator("#floorplan .about").text_content()
    listened(page, "window", "track", "cursor")
    page.locator("#floorplan .about button").click()
    assert page.evaluate("Object.fromEntries(asked)") == {
        "track": {"name": "chip.ring.link2"}, "window": {"from": 8, "to": 29}, "cursor": {"cycle": 20},
    }  # fmt: skip


def test_a_run_without_a_trace_shows_the_whole_run(
    open_page: Open, digits: Path, statistics: Any, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_bytes((digits / "run.json").read_bytes())
    assert CliRunner().invoke(app, ["report", str(tmp_path)]).exit_code == 0
    page = open_page(tmp_path / "report.html")
    assert "not traced" in page.locator("#floorplan .note").text_content()
    assert page.locator("#floorplan input[type='radio']").count() == 0
    page.locator(MAC_ARRAY).hover()
    busy = next(unit["busy_cycles"] for unit in statistics["units"] if unit["track"] == "chip.tile0.mac_array")
    assert f"busy: {busy:,} cycles" in page.locator("#tip").text_content()
    page.locator("#floorplan-layer").select_option("3")
    assert "only a trace tells" in page.locator("#floorplan .beside").text_content()


@pytest.mark.parametrize("grid", ["1x1", "16x16"])
def test_small_and_large_grids_fit(open_page: Open, tmp_path: Path, grid: str) -> None:
    page = open_page(
        ran(tmp_path, "pocket", "-t", "pocket-2x1", "--set", f"grid={grid}"),
        viewport={"width": 900, "height": 800},
    )
    rows, columns = map(int, grid.split("x"))
    assert page.locator("#floorplan [aria-label$=', MAC array']").count() == rows * columns
    assert page.locator("#floorplan [aria-label^='mesh, ']").count() == 2 * (
        rows * (columns - 1) + columns * (rows - 1)
    )
    box = page.locator("#floorplan .plan").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 900
    inside = page.locator("#floorplan .plan").evaluate(
        "it => { const all = it.getBBox(), view = it.viewBox.baseVal;"
        " return all.x >= 0 && all.y >= 0 && all.x + all.width <= view.width && all.y + all.height <= view.height }"
    )
    assert inside
