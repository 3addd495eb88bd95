from __future__ import annotations

from io import StringIO

from rich.console import Console

from tests.report.batched import batched
from tests.report.made import energy, layer, saved
from tilesim.report.comparison import compared, document
from tilesim.report.comparison_tables import comparison_tables
from tilesim.report.document import SavedRun
from tilesim.report.page.compare import comparison_page
from tilesim.report.terminal import print_on


def shown(*runs: SavedRun) -> list[str]:
    console = Console(file=StringIO(), width=80)
    print_on(console, comparison_tables(document(compared(runs))))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def line(lines: list[str], first: str) -> list[str]:
    """The words of the line that begins with ``first``."""
    return next(each for each in lines if each.startswith(first)).split()


def test_a_line_a_run_a_cause_and_a_layer_that_differs() -> None:
    faster = saved(
        "b", 4, cycles=40, breakdown={"macs": 160}, energy=None,
        layers=[layer("l0", 4, macs=30), layer("l1", 4, macs=10)],
    )  # fmt: skip
    lines = shown(saved("a", energy=energy(2e6)), faster)
    assert lines[0] == "net, 2 runs; the first is a"
    assert line(lines, "a ") == ["a", "chip-1", "1", "100", "100", "us", "1.00", "x", "100%", "2", "uJ"]
    assert line(lines, "b ") == ["b", "chip-4", "4", "40", "40", "us", "2.50", "x", "62%", "-"]
    assert line(lines, "grid.rows") == ["grid.rows", "1", "4"]
    assert line(lines, "MACs") == ["MACs", "70", "-30"]
    assert line(lines, "all") == ["all", "100", "-60"]
    assert line(lines, "l0") == ["l0", "60", "-30"]
    assert lines[-1] == "b does not say what energy it took"


def test_layers_that_do_not_differ_and_settings_that_are_the_same_take_no_place() -> None:
    lines = shown(saved("a"), saved("b"))
    assert not any("set otherwise" in each or "layers that differ" in each for each in lines)
    assert line(lines, "all") == ["all", "100", "0"]


def test_a_layer_that_a_run_lacks_has_a_dash_and_names_are_no_markup() -> None:
    lines = shown(saved("[red]a"), saved("b\x1b", layers=[layer("l0", macs=50, port=10)]))
    assert "the first is [red]a" in lines[0]
    assert line(lines, "l1") == ["l1", "30", "-"]
    assert not any("\x1b" in each for each in lines)


def test_a_page_takes_what_tables_take() -> None:
    """Whatever a run does not say."""
    plain = {"energy": None, "partition": None}
    found = document(compared([saved("a", **plain), saved("b", layers=[], bytes={})]))
    assert comparison_page(found).count("<section") == 3


def test_names_are_neither_markup_nor_orders_to_the_terminal() -> None:
    name = "[/x]\x1b[31m"
    odd = saved("[red]\x1b", 4, breakdown={name: 160}, chip={name: 1}, macs=7)
    lines = shown(saved("a"), odd)
    assert sum(each.startswith("[/x]\\x1b[31m") for each in lines) == 2
    assert "[red]\\x1b does 7 MACs, a 500: the networks are not the same" in lines
    assert not any("\x1b" in each for each in lines)


def test_runs_in_batches_say_what_they_fetch_and_keep() -> None:
    lines = shown(batched("demand"), batched("lcm"))
    first = lines.index("Batches: weights fetched, largest footprint, latency in cycles") + 2
    assert lines[first].split()[:7] == ["demand", "demand", "45", "308.25", "KiB", "706.17", "KiB"]
    assert lines[first + 1].split()[:7] == ["lcm", "lcm", "6", "96.89", "KiB", "3.64", "MiB"]
