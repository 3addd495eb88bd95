"""Two traced runs on one axis, in a real browser: both are there, and their ranges add up to their run.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.browser.conftest import Open
from tests.browser.test_timeline_hands import totals
from tilesim.cli import app
from tilesim.registry import description_of
from tilesim.report.document import load_run
from tilesim.report.tracks import role

FASTER = 700_000_000


@pytest.fixture(scope="module")
def others(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of ``digits`` on two tiles, and with a faster clock, compared with the one on four; the last not traced."""
    folder = tmp_path_factory.mktemp("pair")
    run, trace = ("run", "digits", "-q", "--topology"), ("--trace", "--out")
    calls: list[tuple[object, ...]] = [
        (*run, "edge-1x2", *trace, folder / "two"),
        (*run, "edge-2x2", "--set", f"clock_hz={FASTER}", *trace, folder / "fast"),
        (*run, "edge-1x2", "--out", folder / "plain"),
    ]
    calls += [("compare", digits, folder / name, "-o", folder / f"{name}.html") for name in ("two", "fast", "plain")]
    for words in calls:
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
    return {name: folder / name for name in ("two", "fast", "plain")}


def page_of(open_page: Open, folder: Path) -> Any:
    return open_page(folder.with_suffix(".html"))


def check_rows(page: Any, number: int, folder: Path, whole: float) -> None:
    """The totals of the whole axis are those of a run's ``run.json``; what is left of ``whole`` cycles is idle."""
    titles, rows = totals(page)
    statistics = load_run(folder, with_trace=False).statistics
    machine, accounts = description_of(statistics["machine"]), [*statistics["units"], *statistics["links"]]
    ours = {words: numbers for words, numbers in rows.items() if words.startswith(f"{number}: ")}
    assert len(ours) > 5
    for words, numbers in ours.items():
        units = [unit for unit in accounts if f"{number}: {role(unit['track'], machine).words}" == words]
        of_row = dict(zip(titles, numbers, strict=True))
        assert of_row["tracks"] == len(units)
        assert of_row["busy"] == pytest.approx(sum(unit["busy_cycles"] for unit in units))
        waited = sum(sum(unit["stall_cycles"].values()) for unit in units)
        assert sum(numbers[2:-2]) == pytest.approx(waited)
        assert of_row["cycles"] == pytest.approx(whole * len(units))


def test_runs_of_one_clock_are_on_one_axis_of_cycles(open_page: Open, digits: Path, others: dict[str, Path]) -> None:
    page = page_of(open_page, others["two"])
    cycles = [load_run(folder, with_trace=False).statistics["cycles"] for folder in (digits, others["two"])]
    assert page.evaluate("() => [tilesim.timeline.view.from, tilesim.timeline.view.to]") == [0, max(cycles)]
    heads = page.locator("#timeline .label.group").all_inner_texts()
    assert [head.strip() for head in heads[:2]] == ["\u25be 1: MAC arrays", "\u25be 2: MAC arrays"]
    assert {head[2] for head in heads} == {"1", "2"}
    assert "cycles of 2 ns" in page.locator("#timeline .titles").inner_text()
    page.locator("#timeline .scroller").press("r")
    for number, folder in ((1, digits), (2, others["two"])):
        check_rows(page, number, folder, max(cycles))


def test_runs_of_two_clocks_are_on_one_axis_of_time(open_page: Open, digits: Path, others: dict[str, Path]) -> None:
    page = page_of(open_page, others["fast"])
    seconds = {}
    for folder in (digits, others["fast"]):
        statistics = load_run(folder, with_trace=False).statistics
        seconds[folder] = statistics["cycles"] / statistics["clock_hz"]
    whole = max(seconds.values())
    assert seconds[others["fast"]] < seconds[digits]
    ends = page.evaluate("() => [tilesim.timeline.view.to, tilesim.timeline.data.ticks_hz]")
    assert ends[0] / ends[1] == pytest.approx(whole)
    page.locator("#timeline .scroller").press("r")
    assert "\u00b5s" in page.locator("#timeline .range strong").inner_text()
    check_rows(page, 1, digits, whole * 500_000_000)
    check_rows(page, 2, others["fast"], whole * FASTER)
    sums = page.evaluate(
        "() => { const { counters, data } = tilesim.timeline;"
        " return counters.counters.map((each) => [each.title, counters.mean(each, 0, data.cycles)]); }"
    )
    carried = load_run(others["fast"], with_trace=False).statistics["bytes"]["mesh"]["carried"]
    assert dict(sums)["2: Mesh"] == pytest.approx(carried / (whole * FASTER))


def test_of_runs_that_were_not_traced_there_is_no_timeline(open_page: Open, others: dict[str, Path]) -> None:
    assert page_of(open_page, others["plain"]).locator("#timeline").count() == 0
