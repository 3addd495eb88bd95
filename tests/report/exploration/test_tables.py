"""How networks scale, in a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from tests.report.exploration.rows import GRIDS, row
from tilesim.explore.row import Row
from tilesim.report.exploration.scaling import series
from tilesim.report.exploration.tables import scaling_table, scaling_tables
from tilesim.report.exploration.verdict import verdict
from tilesim.report.terminal import print_on


def shown(rows: list[Row]) -> list[str]:
    console = Console(file=StringIO(), width=100)
    tables = scaling_tables(rows)
    assert tables is not None
    print_on(console, tables)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_a_line_a_chip_marks_the_knee_and_what_is_lost() -> None:
    rows = [row("kws", grid, layers=13) for grid in GRIDS]
    lines = shown(rows)
    [found] = series(rows)
    assert lines[0] == "kws"
    assert lines[1].split() == [
        "tiles", "cycles", "time", "speedup", "efficiency", "bound", "by", "most", "lost", "to",
    ]  # fmt: skip
    for chip, line in zip(found.rows, lines[2:9], strict=True):
        assert line.split()[:2] == [str(chip.tiles), f"{chip.cycles:,}"]
        assert f"{chip.speed_up:.2f} x" in line
        assert ("knee" in line) == (chip is found.rows[found.knee])
    assert lines[2].endswith("-")
    assert lines[8].rstrip().endswith("%")
    assert " ".join(lines[9:]).split() == verdict(rows, found).split()


def test_each_network_has_its_longest_series_and_says_which_that_is() -> None:
    rows = [row(name, grid, chip={"tile.lanes": lanes}) for name in ("b", "a") for lanes in (16, 32) for grid in GRIDS]
    lines = shown([*rows, row("a", (3, 3), chip={"tile.lanes": 32})])
    assert [line for line in lines if " with " in line] == ["a with tile.lanes 32", "b with tile.lanes 16"]
    assert lines.count("1 other series of it: the report has all.") == 2


def test_where_nothing_can_be_compared_there_is_no_table() -> None:
    assert scaling_tables([row()]) is None


def test_names_give_the_terminal_no_orders() -> None:
    rows = [row("[red]\x1b", grid) for grid in GRIDS[:2]]
    assert shown(rows)[0] == "[red]\\x1b"
    assert scaling_table(rows, series(rows)[0]).row_count == 2
