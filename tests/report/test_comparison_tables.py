from __future__ import annotations

from io import StringIO

from rich.console import Console

from tests.report.batched import batched
from tests.report.made import energy, layer, saved
from tilesim.report.comparison import compared
from tilesim.report.comparison_tables import ChipRun, comparison_tables, scaling_notes, scaling_table
from tilesim.report.document import SavedRun
from tilesim.report.page.compare import comparison_page
from tilesim.report.terminal import print_on


def shown(*runs: SavedRun) -> list[str]:
    console = Console(file=StringIO(), width=80)
    print_on(console, comparison_tables(compared(runs)))
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
    assert line(lines, "MAC array") == ["MAC", "array", "70", "-30"]
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
    found = compared([saved("a", **plain), saved("b", layers=[], bytes={})])
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


def statistics(tiles: int, cycles: int, clock_hz: int = 500_000_000, bound_by: str = "macs") -> dict[str, object]:
    units = [{"track": f"chip.tile{k}.{name}"} for k in range(tiles) for name in ("tensor", "mac_array")]
    tile = {"lanes": 64, "inputs_per_cycle": 4, "vector_bytes": 4}
    chip = {"grid": {"rows": tiles, "columns": 1}, "tile": tile}
    run = {"machine": "tiled", "chip": chip, "units": units, "cycles": cycles, "clock_hz": clock_hz}
    layers = [{"mac_busy_cycles": tiles * cycles}]
    return {**run, "macs": 128 * tiles * cycles, "mac_utilisation": 0.5, "bound_by": bound_by, "layers": layers}


NAME = "[red]a very long name of a chip, as a file may have it, and so on"


def test_a_line_a_chip_the_first_that_fits_is_1_all_within_80_columns() -> None:
    rows = [
        ChipRun("edge-1x1", 1, None),
        ChipRun("edge-2x2", 4, statistics(4, 123_456_789)),
        ChipRun(NAME, 64, statistics(64, 12_345_679, bound_by="instruction bus")),
    ]
    console = Console(file=StringIO(), width=80)
    print_on(console, scaling_table(rows))
    title, *lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, (title, *lines))) <= 80
    assert title.split()[1:] == ["tiles", "cycles", "time", "speed-up", "efficiency", "in", "use", "bound", "by"]
    assert lines[0].split()[1:] == ["1", "-", "-", "-", "-", "-", "does", "not", "fit"]
    assert lines[1].split()[1:] == ["4", "123,456,789", "247", "ms", "1.00", "x", "100%", "50.0%", "128/256", "MACs"]
    assert lines[2].split()[-9:] == ["12,345,679", "24.7", "ms", "10.00", "x", "62%", "50.0%", "instruction", "bus"]
    assert [each[:3] for each in (title, *lines)] == ["top", "edg", "edg", "[re"]
    assert len(lines) == 3
    assert list(scaling_notes(rows)) == []


def test_of_arrays_that_are_not_alike_efficiency_is_left_out_and_it_says_why() -> None:
    rows = [
        ChipRun("none", 1, None),
        ChipRun("edge", 4, statistics(4, 900)),
        ChipRun("array", 1, {**statistics(1, 300), "machine": "systolic"}),
        ChipRun("fast", 4, statistics(4, 900, clock_hz=1_000_000_000)),
    ]
    console = Console(file=StringIO(), width=80)
    print_on(console, scaling_table(rows))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[3].split() == ["array", "1", "300", "600", "ns", "3.00", "x", "-", "50.0%", "MAC", "array"]
    assert lines[4].split() == ["fast", "4", "900", "900", "ns", "2.00", "x", "-", "50.0%", "128/256", "MACs"]
    assert list(scaling_notes(rows)) == [
        "array has no efficiency over edge: another kind of machine",
        "fast has no efficiency over edge: another clock",
    ]
