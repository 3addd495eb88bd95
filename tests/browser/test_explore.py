"""The page of a sweep in a real browser: how networks scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.report.exploration.rows import row, rows
from tilesim.explore.row import Row
from tilesim.registry import description_of
from tilesim.report.exploration.layers import layer_scaling
from tilesim.report.exploration.losses import LOSSES
from tilesim.report.exploration.scaling import Series, series
from tilesim.report.exploration.verdict import between, verdict
from tilesim.report.page.explore import exploration_page

POINTS = rows(7 * 3 * 4)
"""Three networks on seven grids with four numbers of lanes."""
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("explore"), POINTS)


def saved(folder: Path, found: list[Row], title: str = "three networks") -> Path:
    path = folder / "page.html"
    path.write_text(exploration_page(found, title), encoding="utf-8")
    return path


def the_series(network: str, lanes: int) -> Series:
    return next(one for one in series(POINTS) if one.network == network and one.settings["tile.lanes"] == lanes)


def choose(page: Any, section: str, **lists: str) -> None:
    for name, value in lists.items():
        label = page.locator(f"#{section} .series label", has_text=name.replace("_", "."))
        label.first.locator("select").select_option(value)


def number(text: str) -> int:
    return int(text.replace(",", "").replace("\u2212", "-").replace("+", "").split()[0])


def test_a_series_is_chosen_for_all_sections(open_page: Open, path: Path) -> None:
    page = open_page(path)
    assert page.title() == "three networks"
    choose(page, "explore_losses", network="vww", tile_lanes="128")
    found = the_series("vww", 128)
    assert page.locator("#explore_scaling .verdict").inner_text() == verdict(POINTS, found)
    cells = page.locator("#scaling tbody tr > :nth-child(3)").all_inner_texts()
    assert [number(cell) for cell in cells] == [chip.cycles for chip in found.rows]
    assert page.locator("#scaling .at-knee th").inner_text() == str(found.rows[found.knee].tiles)
    selects = page.locator("section .series label:first-child select")
    assert {select.input_value() for select in selects.all()} == {"vww"}


def test_dots_are_where_their_numbers_are_and_tell_them(open_page: Open, path: Path) -> None:
    page = open_page(path)
    choose(page, "explore_scaling", network="kws", tile_lanes="16")
    found = the_series("kws", 16)
    charts = page.locator("#explore_scaling .plot")
    for chart, values in ((0, [c.speed_up for c in found.rows]), (1, [c.efficiency for c in found.rows])):
        dots = charts.nth(chart).locator("circle.dot")
        tops = [float(dot.get_attribute("cy")) for dot in dots.all()]
        assert sorted(range(7), key=lambda k: -tops[k]) == sorted(range(7), key=lambda k: values[k])
    knee = found.rows[found.knee]
    charts.nth(0).locator("circle.dot").nth(found.knee).focus()
    told = page.locator("#tip").inner_text()
    assert f"{knee.cycles:,}" in told
    assert f"{knee.efficiency:.1%}".replace("%", " %") in told
    assert charts.nth(0).locator(".knee-words").text_content() == f"knee: {knee.tiles} tiles"


def test_other_lanes_are_drawn_beside_it(open_page: Open, path: Path) -> None:
    page = open_page(path)
    page.select_option("#beside", "any tile.lanes")
    assert page.locator("#explore_scaling .plot").first.locator("path.other").count() == 3
    assert page.locator("#explore_scaling .legend span").count() == 4


def test_the_waterfall_adds_up(open_page: Open, path: Path) -> None:
    page = open_page(path)
    choose(page, "explore_losses", network="vww", tile_lanes="64")
    found = the_series("vww", 64)
    page.select_option("#lost-from", "2 tiles")
    page.select_option("#lost-to", "32 tiles")
    step = between(POINTS, found, 1, 5)
    shown = {part.get_attribute("data-lost"): part for part in page.locator("#waterfall [data-lost]").all()}
    assert shown.keys() == {name for name, lost in step.parts.items() if abs(lost) >= 0.5}
    lengths = 0.0
    for name, part in shown.items():
        words = part.get_attribute("aria-label").removeprefix(f"{LOSSES[name].words}: ")
        assert abs(number(words) - step.parts[name]) <= 0.5
        width = float(part.locator(".part").get_attribute("width"))
        lengths += width if step.parts[name] > 0 else -width
    first, last = (
        float(page.locator(f"#waterfall .{kind} .part").get_attribute("width")) for kind in ("first", "taken")
    )
    assert first + lengths == pytest.approx(last, abs=len(shown))
    assert last / first == pytest.approx(step.actual / step.ideal, rel=0.01)


def test_a_loss_names_the_layers_that_it_is_in(open_page: Open, path: Path) -> None:
    page = open_page(path)
    choose(page, "explore_losses", network="kws", tile_lanes="64")
    page.select_option("#lost-from", "1 tile")
    page.select_option("#lost-to", "64 tiles")
    layers = layer_scaling(POINTS, the_series("kws", 64))
    more = {
        layer.name: last.lost["halo"] - first.lost.get("halo", 0.0) / 64
        for layer in layers
        if (first := layer.chips[0]) and (last := layer.chips[-1]) and "halo" in last.lost
    }
    most = max(more, key=lambda name: more[name])
    page.locator("#waterfall [data-lost=halo]").focus()
    told = page.locator("#tip").inner_text()
    assert f"most in {most}\t+{round(more[most])}" in told


def test_a_bar_of_shares_chooses_its_chip(open_page: Open, path: Path) -> None:
    page = open_page(path)
    page.locator("#stacks .stack-of").nth(6).press("Enter")
    assert page.locator("#lost-to").input_value() == "64 tiles"


def test_layers_have_their_efficiencies_and_knees(open_page: Open, path: Path) -> None:
    page = open_page(path)
    choose(page, "explore_layers", network="kws", tile_lanes="32")
    found = the_series("kws", 32)
    for k, layer in enumerate(layer_scaling(POINTS, found)):
        cells = page.locator(f"#layer-matrix tbody tr:nth-child({k + 1}) td.shaded")
        first, last = layer.chips[0], layer.chips[-1]
        assert first
        assert last
        assert cells.last.inner_text() == f"{round(100 * first.cycles / last.cycles / 64)} %"
        knees = cells.evaluate_all("cells => cells.flatMap((cell, k) => cell.classList.contains('knee') ? [k] : [])")
        assert knees == ([layer.knee] if layer.held_by else [])
    page.select_option("#layers-view", "cycles")
    assert number(cells.last.inner_text()) == round(last.cycles)
    page.locator("#layer-matrix [tabindex='0']").press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert "with 2 tiles" in page.locator("#tip").inner_text()
    assert page.locator("#layer-matrix [tabindex='0']").count() == 1


def test_energy_is_that_of_the_runs(open_page: Open, path: Path) -> None:
    page = open_page(path)
    choose(page, "explore_energy", network="tiny", tile_lanes="32")
    rows_of = [POINTS[chip.row]["measures"] for chip in the_series("tiny", 32).rows]
    page.locator("#explore_energy circle.dot").first.focus()
    assert f"{rows_of[0]['energy_pj'] / 1e3:.0f} nJ" in page.locator("#tip").inner_text()
    assert page.locator("#layer-energy tbody tr").count() == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_never_scrolls_sideways_and_names_are_text(open_page: Open, tmp_path: Path, scheme: str) -> None:
    found = [row(SCRIPT, grid, chip={SCRIPT: lanes}) for grid in ((1, 1), (2, 2)) for lanes in (1, 2)]
    page = open_page(saved(tmp_path, found, SCRIPT), color_scheme=scheme, viewport={"width": 900, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 900
    assert page.locator("#explore_scaling .series label").first.inner_text().startswith(SCRIPT)


def test_points_that_differ_in_other_things_have_no_scaling(open_page: Open, tmp_path: Path) -> None:
    page = open_page(saved(tmp_path, [row(chip={"tile.lanes": lanes}) for lanes in (16, 32)]))
    assert "nothing but the number of tiles" in page.locator("#explore_scaling .note").inner_text()
    assert page.locator("#explore_losses").count() == 0


def test_every_loss_has_its_colour_in_both_themes(open_page: Open, path: Path) -> None:
    page = open_page(path)
    assert {cause.lost for cause in description_of("tiled").causes.values()} <= LOSSES.keys()
    hues = {page.evaluate(f"tilesim.colour('lost-{name}')") for name in LOSSES}
    assert len(hues) == len(LOSSES)
