"""A sweep's points in a real browser: figures, a map of two keys, the Pareto front, the table of all."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import Open
from tests.report.exploration.rows import row, rows
from tilesim.explore.row import Row, Status
from tilesim.explore.rows.front import front
from tilesim.report.exploration.heat import heat_map
from tilesim.report.exploration.keys import in_order, space_keys
from tilesim.report.exploration.measures import costs
from tilesim.report.exploration.points import MEASURES, VariedKey, measured
from tilesim.report.page.explore import exploration_page

MANY = 10_000
SLOWEST_SECONDS = 2.0
HOSTILE = "</script><script>alert(1)</script>\u202e\x1b[31m " + "long_" * 60
LATENCY, AREA, ENERGY = (
    next(each for each in MEASURES if each.name == name) for name in ("latency_us", "area_mm2", "energy_pj")
)


def written(found: list[Row], folder: Path) -> Path:
    path = folder / "page.html"
    path.write_text(exploration_page(found, "a sweep"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def some() -> list[Row]:
    """Of three networks, grids, lanes and memories."""
    return in_order(rows(3 * 7 * 4 * 4))


@pytest.fixture(scope="module")
def path(some: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(some, tmp_path_factory.mktemp("space"))


@pytest.fixture(scope="module")
def blank(browser: Any) -> Iterator[Any]:
    """A page where a test may call functions of the page's scripts."""
    page = browser.new_page()
    yield page
    page.close()


def script(name: str) -> str:
    return (files("tilesim.report.page") / name).read_text(encoding="utf-8")


def choose(section: Any, what: str, option: str) -> None:
    section.locator(f"label:has-text('{what}: ') select").select_option(option)


def column(page: Any, title: str) -> list[str]:
    """What a column of the table shows, of the rows that are there."""
    titles = [each.replace(" ", "") for each in page.locator(".points th").all_inner_texts()]
    place = next(k for k, each in enumerate(titles) if each.startswith(title.replace(" ", "")))
    cells = page.locator(f".points tbody tr[data-point] td:nth-child({place + 1})")
    texts: list[str] = cells.all_inner_texts()
    return texts


# ---- ten thousand points


def test_ten_thousand_points_sort_filter_and_scroll(open_page: Open, many_points: tuple[list[Row], Path]) -> None:
    found, path = many_points
    page = open_page(path, viewport={"width": 900, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 900
    assert page.locator(".points tbody tr[data-point]").count() < 60
    page.get_by_role("button", name="latency", exact=False).first.click()
    latencies = measured(found, LATENCY)
    order = np.argsort(np.where(np.isnan(latencies), np.inf, latencies), kind="stable")
    places = page.locator(".points tbody tr[data-point]").evaluate_all("rows => rows.map((row) => +row.dataset.point)")
    assert places == order[: len(places)].tolist()
    page.locator(".points-scroller").evaluate("place => place.scrollTo(0, place.scrollHeight)")
    last = page.locator(".points tbody tr[data-point]").last
    last.wait_for()
    page.locator(f"#point-{order[-1]}").wait_for()
    page.get_by_label("condition on network").fill("kws")
    page.get_by_label("condition on tile.lanes").fill(">= 64")
    kept = [k for k, each in enumerate(found) if each["network"] == "kws" and int(each["chip"]["tile.lanes"]) >= 64]
    assert f"{len(kept):,} of 10,000 points" in page.locator("#explore_table .explore-key").inner_text()


@pytest.mark.benchmark
def test_opening(open_page: Open, tmp_path: Path, benchmark: Any) -> None:
    path = written(rows(MANY if benchmark.enabled else 100), tmp_path)
    page = benchmark.pedantic(open_page, (path,), rounds=5 if benchmark.enabled else 1)
    assert page.locator("#bests tbody tr").count() > 0
    if benchmark.enabled:
        assert benchmark.stats.stats.median <= SLOWEST_SECONDS


# ---- the points in figures


def test_figures_and_reasons_are_those_of_the_rows(open_page: Open, path: Path, some: list[Row]) -> None:
    page = open_page(path)
    refused = sum(each["status"] == "refused" for each in some)
    assert page.locator("#explore .figures .value").all_inner_texts() == ["336", str(336 - refused), str(refused), "0"]
    assert page.locator("#reasons tbody td").all_inner_texts()[:2] == [str(refused), "refused"]
    page.get_by_label("condition on status").fill("refused")
    reasons = {each["reason"] for each in some if each["status"] == "refused"}
    assert set(page.locator(".points td.reason").all_inner_texts()) == reasons
    page.locator("#reasons button").click()
    assert page.locator("#explore_table .note").inner_text() == next(r["reason"] for r in some if r["reason"])


# ---- a map of two keys


def test_cells_are_those_that_python_finds(blank: Any) -> None:
    rng = np.random.default_rng(5)
    values = np.where(rng.random(400) < 0.2, np.nan, rng.integers(1, 50, 400))
    keys = [VariedKey("k", tuple(range(count)), rng.integers(-1, count, 400)) for count in (55, 3)]
    call = """([across, up, values, how]) => {
        %s
        const measure = { values: values.map((value) => value ?? NaN), more_is_better: false };
        const points = values.map((_, k) => k);
        const { cells } = cellsOf(points, across, up, measure, how, { across: 40, up: 30 });
        return cells.map((row) => row.map((cell) => [cell.points.length, cell.value]));
    }"""
    sent = [{"codes": key.codes.tolist(), "values": list(key.values)} for key in keys]
    numbers = [None if np.isnan(value) else float(value) for value in values]
    for how, name in (("lowest", "best"), ("median", "median")):
        found = np.array(blank.evaluate(call % script("explore_heat_cells.js"), [*sent, numbers, name]), np.float64)
        expected = heat_map(*keys, values, np.ones(400, np.bool_), "lowest" if how == "lowest" else "median")
        np.testing.assert_array_equal(found[..., 0], expected.points)
        np.testing.assert_array_equal(found[..., 1], expected.values)


def test_a_map_hatches_what_was_refused_and_says_why(open_page: Open, path: Path) -> None:
    page = open_page(path)
    section = page.locator("#explore_heat")
    choose(section, "network", "vww")
    choose(section, "across", "wide_memory.size_bytes")
    choose(section, "up", "tile.lanes")
    cells = section.locator("td.refused")
    assert cells.count() == 4
    assert (
        "the lowest latency of the points that ran with its two keys, whatever they have for grid"
        in section.inner_text()
    )
    cells.first.hover()
    assert "must hold 300,000 bytes" in page.locator("#tip").inner_text()


def test_arrows_go_from_cell_to_cell_and_enter_shows_the_point(open_page: Open, path: Path) -> None:
    page = open_page(path)
    page.locator("#explore_heat td.foremost").focus()
    page.keyboard.press("ArrowLeft")
    focused = page.locator("#explore_heat td.cell:focus")
    words = focused.get_attribute("aria-label")
    page.keyboard.press("Enter")
    title = page.locator("#explore_table .chosen-point h3").inner_text()
    assert words.startswith("grid 4x8 · tile.lanes 128: ")
    assert title.startswith("Point ")
    assert page.locator("#explore_table .facts").inner_text().count("4x8") == 1
    assert page.locator("#explore_heat td.chosen").get_attribute("aria-label") == words


# ---- the Pareto front


def test_the_front_is_the_one_that_python_finds(blank: Any) -> None:
    rng = np.random.default_rng(2)
    cases = [rng.integers(0, rng.integers(2, 40), (rng.integers(1, 60), rng.integers(2, 4))) for _ in range(300)]
    call = """(cases) => {
        %s
        return cases.map((points) => front(points.map((_, k) => k), points[0].map((_, column) => (
            { values: points.map((point) => (column ? 1 : -1) * point[column]), more_is_better: !column }))));
    }"""
    found = blank.evaluate(call % script("explore_front.js"), [case.tolist() for case in cases])
    assert [sorted(each) for each in found] == [
        np.flatnonzero(front(case.astype(np.float64))).tolist() for case in cases
    ]


def test_the_front_of_the_page_is_that_of_the_rows(open_page: Open, path: Path, some: list[Row]) -> None:
    page = open_page(path)
    section = page.locator("#explore_pareto")
    choose(section, "network", "kws")
    of_kws = np.array([each["network"] == "kws" for each in some])
    for measures in ([AREA, LATENCY], [AREA, LATENCY, ENERGY]):
        if ENERGY in measures:
            choose(section, "third, as a colour", "energy")
        by_point = np.where(of_kws[:, None], costs(some, measures), np.nan)
        on_front = np.flatnonzero(front(by_point))
        said = section.locator("p[role=status]").inner_text()
        assert said.startswith(f"{on_front.size} of {of_kws.sum()} points of kws are on the front of area")
        listed = section.locator("#front tbody tr").evaluate_all("rows => rows.map((row) => +row.dataset.point)")
        assert set(listed) <= set(on_front.tolist())
        assert len(listed) == len(np.unique(by_point[on_front], axis=0))


def test_keys_go_along_the_front_and_enter_shows_a_point_and_its_command(
    open_page: Open, path: Path, some: list[Row]
) -> None:  # fmt: skip
    page = open_page(path, permissions=["clipboard-read", "clipboard-write"])
    section = page.locator("#explore_pareto")
    section.locator("canvas").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#tip").inner_text().startswith("point ")
    page.keyboard.press("Enter")
    chosen = page.locator(".points tr.active").get_attribute("data-point")
    command = some[int(chosen)]["command"]
    assert section.locator(".command code").inner_text() == command
    section.get_by_role("button", name="Copy command").click()
    section.get_by_text("copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == command


def test_a_click_on_a_point_of_the_picture_shows_it(open_page: Open, path: Path) -> None:
    page = open_page(path, viewport={"width": 1000, "height": 1400}, reduced_motion="reduce")
    canvas = page.locator("canvas.pareto")
    canvas.focus()
    page.keyboard.press("Home")
    tip = page.locator("#tip")
    words = tip.inner_text()
    place, near = canvas.bounding_box(), tip.bounding_box()
    across, down = near["x"] - 14 - place["x"], near["y"] - 18 - place["y"]  # where the tip of a point stands
    canvas.click(position={"x": across, "y": down})
    title = page.locator("#explore_pareto .chosen-point h3").inner_text()
    assert title.lower().startswith(words.partition("\n")[0])


# ---- the table


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("64", [64]), ("<= 64", [16, 64]), (">64", [128, 2048]), ("!= 16", [64, 128, 2048]), ("= 2 KiB", [2048]),
        ("16..128", [16, 64, 128]), ("2,048", [2048]), ("", [16, 64, 128, 2048]), ("< x", None), ("x", None),
        ("1..", None), ("..", None),
    ],
)  # fmt: skip
def test_conditions_on_numbers(blank: Any, text: str, held: list[int] | None) -> None:
    call = """([numbers, text]) => {
        %s
        const holds = condition({ number: (k) => numbers[k] }, text);
        return holds && numbers.filter((_, k) => holds(k));
    }"""
    assert blank.evaluate(call % script("explore_filter.js"), [[16, 64, 128, 2048], text]) == held


def test_keyboard_sorts_and_goes_from_row_to_row(open_page: Open, path: Path, some: list[Row]) -> None:
    page = open_page(path)
    condition = page.get_by_label("condition on latency")
    condition.fill("<= nothing")
    assert condition.get_attribute("aria-invalid") == "true"
    assert "must be a number" in condition.get_attribute("title")  # and all rows stay
    assert page.locator(".points").get_attribute("aria-rowcount") == "337"
    page.locator(".points th button").nth(2).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.locator(".points th[aria-sort=descending]").inner_text().startswith("grid")
    assert column(page, "grid")[0] == "8x8"
    page.locator(".points").focus()
    for key in ("ArrowDown", "End", "PageUp", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    chosen = page.locator(".points tr[aria-selected=true]")
    assert page.locator(".points").get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    assert chosen.get_attribute("aria-rowindex") == str(337 - 19 - 1)
    command = some[int(chosen.get_attribute("data-point"))]["command"]
    assert page.locator("#explore_table .command code").inner_text() == command


def test_columns_are_chosen_and_the_table_is_copied(open_page: Open, path: Path, some: list[Row]) -> None:
    page = open_page(path, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_text("Columns", exact=True).click()
    page.locator(".boxes").get_by_label("bytes on ring").check()
    assert column(page, "bytes on ring")[0] == "4 KiB"
    page.get_by_role("button", name="Copy table").click()
    page.get_by_text("copied 336 rows").wait_for()
    lines = [line.split("\t") for line in page.evaluate("navigator.clipboard.readText()").split("\n")]
    assert {len(line) for line in lines} == {len(lines[0])}
    assert [line[-1] for line in lines[1:]] == [each["command"] for each in some]
    latency = lines[0].index("latency, µs")
    assert [float(line[latency] or "nan") for line in lines[1:]] == pytest.approx(
        measured(some, LATENCY).tolist(), nan_ok=True
    )


# ---- whatever names hold


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_are_text(open_page: Open, tmp_path: Path, scheme: str) -> None:
    statuses: tuple[Status, ...] = ("ran", "ran", "refused", "failed", "ran")
    found = [
        row(f"{HOSTILE}{k % 2}", chip={f"{HOSTILE}<b>": f"{HOSTILE}{k}"}, status=status)
        for k, status in enumerate(statuses)
    ]
    for each in found:
        each["reason"] = each["reason"] and f"{HOSTILE}\nand more"
        each["command"] = f"tilesim run {HOSTILE}"
    page = open_page(written(found, tmp_path), color_scheme=scheme, viewport={"width": 900, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 900
    page.locator("#reasons button").first.click()
    code = page.locator("#explore_table .command code").inner_text()
    assert "</script><script>alert(1)</script>\\u{202e}\\u{1b}[31m" in code
    said = page.locator("#explore_table .note").inner_text()
    assert "\\u202e\\x1b[31m" in said
    assert said.endswith("\nand more")


@pytest.mark.parametrize("found", [[], [row(status="refused")]])
def test_few_points_have_a_page_too(open_page: Open, tmp_path: Path, found: list[Row]) -> None:
    page = open_page(written(found, tmp_path))
    assert page.locator(".fault").count() == 0
    assert (
        page.locator("#explore_table [role=status]").last.inner_text() == f"{len(found)} point{'s' * (len(found) != 1)}"
    )
    assert space_keys(found) == []
