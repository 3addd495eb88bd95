"""What a terminal says of a sweep."""

from __future__ import annotations

import io

from rich.console import Console

from tests.explore import fakes
from tilesim.explore.row import Row
from tilesim.explore.rows.answers import FASTEST, Objective
from tilesim.report.sweep_tables import MOST_BEST, BestPoints, counts_words, sweep_tables
from tilesim.report.terminal import print_on


def text(rows: list[Row], *objectives: Objective, every: list[Row] | None = None) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_on(console, sweep_tables(rows, objectives or [FASTEST], rows if every is None else every))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def point(number: int) -> Row:
    """One that ran on a chip with a clock and a grid."""
    row = fakes.row(number)
    row["chip"].update({"clock_hz": 500_000_000, "grid.rows": 2, "grid.columns": 2})
    return row


def over_tiles(tiles: int, cycles: int, network: str = "net") -> Row:
    row = point(cycles)
    assert row["measures"] is not None
    row["key"], row["network"] = f"{network}{tiles}", network
    row["chip"].update({"grid.rows": 1, "grid.columns": tiles, "tile.lanes": 64})
    row["measures"].update({"tiles": tiles, "macs": 100})
    return row


def test_how_many_points_there_are() -> None:
    rows = [fakes.row(1), fakes.row(2, "refused", "a"), fakes.row(3, "failed", "b"), fakes.row(4)]
    assert counts_words(rows, 0) == "4 points: 2 ran, 1 refused, 1 failed"
    assert counts_words(rows[:1], 1) == "1 point: 1 ran; 1 had a row already"


def test_the_best_come_first_with_what_varies_and_no_more_than_fit() -> None:
    shown = text([point(number) for number in range(1, 15)])
    lines = shown.splitlines()
    assert lines[0] == "Points with the least latency_us, 10 of 14"
    assert lines[1].split() == ["tile."]
    assert lines[2].split() == ["lanes", "tiles", "cycles", "latency", "energy", "mm²", "bound", "by"]
    assert [line.split()[0] for line in lines[3 : 3 + MOST_BEST]] == [str(number) for number in range(1, 11)]
    assert "the best again: tilesim run net -t chip --set tile.lanes=1" in shown


def test_objectives_that_are_no_columns_become_one() -> None:
    shown = text([point(1), point(2)], Objective("bytes.ring", maximise=True), Objective("energy_pj"))
    lines = shown.splitlines()
    assert lines[0] == "Pareto front: points with the largest bytes.ring and the least energy_pj"
    assert lines[1].split() == ["tile.", "bytes."]
    assert lines[2].split()[:3] == ["lanes", "ring", "tiles"]
    assert [line.split()[:2] for line in lines[3:5]] == [["2", "6"], ["1", "3"]]


def test_columns_go_where_there_is_no_room_for_them() -> None:
    found = BestPoints(
        ["tile.lanes"], ["cycles", "energy"], [["64", "1,234,567", "1.5 uJ", "memory"]], ("bound by", "cycles")
    )

    def titles(width: int) -> list[str]:
        console = Console(file=io.StringIO(), width=width)
        console.print(found)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue().splitlines()[1].split()

    assert titles(80) == ["lanes", "cycles", "energy", "bound", "by"]
    assert titles(28) == ["lanes", "cycles", "energy"]
    assert titles(20) == ["lanes", "energy"]


def test_why_points_did_not_run() -> None:
    refused = [fakes.row(number, "refused", f"reason {'abcde'[number % 5]}\nand more") for number in range(2, 12)]
    shown = text([point(1), *refused, fakes.row(12, "failed", "a reason\x1b[2J")])
    assert shown.count("2 points refused: reason ") == 3
    assert "and more" not in shown
    assert "and 3 other reasons" in shown
    assert text(refused).startswith("No point ran\n")


def test_what_a_condition_leaves_out() -> None:
    rows = [point(1), point(2)]
    assert text(rows[:1], every=rows).startswith("Points with the least latency_us; 1 point left out by --where\n")
    assert text([], every=rows).startswith("No point is left by --where")


def test_networks_over_tiles_with_their_knee() -> None:
    rows = [over_tiles(1, 800), over_tiles(2, 400), over_tiles(4, 390), over_tiles(1, 90, "other")]
    shown = text(rows)
    lines = [line.split() for line in shown.splitlines()]
    start = lines.index(["net"])
    assert [line[:2] + line[4:] for line in lines[start + 2 : start + 5]] == [
        ["1", "800", "1.00", "x", "100%", "busy", "-"],
        ["2", "400", "2.00", "x", "100%", "knee", "busy", "-"],
        ["4", "390", "2.05", "x", "51%", "busy", "other", "100%"],
    ]
    assert "The knee of net is at 2 tiles" in shown
    assert ["other"] not in lines
    assert "network" in lines[2]


def test_a_measure_that_no_point_has_is_named() -> None:
    shown = text([point(1), point(2)], Objective("bytes.rings"))
    assert shown.startswith(
        "No point has bytes.rings: it must be a measure of these points, not 'bytes.rings'; did you"
    )
    assert "'bytes.ring'?" in shown
    assert "--where" not in shown
    apart = [point(1), point(2)]
    assert apart[0]["measures"]
    apart[0]["measures"]["bytes"] = {"mesh": 1}
    assert text(apart, Objective("bytes.ring"), Objective("bytes.mesh")).startswith("No point has all these measures")
