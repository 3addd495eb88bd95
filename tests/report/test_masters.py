"""Trials as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from tilesim.api import simulate
from tilesim.api.masters import try_masters
from tilesim.machines.trial import TrialDocument
from tilesim.report.analysis.masters import Cell, hues, occupancy, window_of
from tilesim.report.masters import picture_text
from tilesim.report.tracks import master_hue, masters_of


def tried(folder: Path, *transfers: str) -> TrialDocument:
    path = folder / "t.yaml"
    path.write_text("\n".join(["tiles: 4", "transfers:", *(f"  - {{{each}}}" for each in transfers), ""]))
    return try_masters(path).document


def printed(document: TrialDocument, columns: int = 80) -> list[str]:
    console = Console(width=columns, highlight=False)
    with console.capture() as capture:
        console.print(*picture_text(document, columns), sep="\n")
    return [line.rstrip() for line in capture.get().splitlines()]


def test_a_run_is_a_line_a_node_and_a_character_a_cycle(tmp_path: Path) -> None:
    low, high = "name: low, master: 0, to: 2, rows: 3, start: 20", "name: high, master: 1, to: 3, rows: 2, start: 21"
    *picture, legend, breach = printed(tried(tmp_path, low, high), 200)
    assert picture == [
        "A run with low.send 20, high.send 21: cycles 20 to 28",
        "",
        "            20",
        "source      .........",
        "tile 0      .AaAaAa..",
        "tile 1      .aABABA..",
        "tile 2      .aaABABA.",
        "tile 3      ...bbBbB.",
        "classifier  .........",
        "sink        .........",
        "               ^",
        "",
    ]
    assert legend.endswith("; a: A is under way past the node, without a row there; ^: the rule is broken")
    assert breach.startswith("^ in cycle 23 a packet of high.send from tile 1, ")


def test_a_cell_tells_rows_and_who_is_under_way(tmp_path: Path) -> None:
    document = tried(tmp_path, "name: low, master: 0, to: 2, rows: 2", "name: high, master: 3, to: sink, rows: 1")
    occupied = occupancy(document)
    low, high = document["picture"]["under_way"]
    assert occupied.at(1, low["start"]) == Cell(("low",), ("low",))
    assert occupied.at(3, low["start"]) == Cell((), ("low",))
    assert occupied.at(3, low["end"]).passing == ("low",)
    assert occupied.at(1, low["end"]) == Cell()
    assert occupied.at(4, high["start"]) == Cell(("high",), ("high",))


def test_of_a_long_run_the_cycles_around_the_breach_are_shown(tmp_path: Path) -> None:
    document = tried(
        tmp_path, "name: low, master: 0, to: 2, rows: 900", "name: high, master: 1, to: 3, rows: 4, start: 900"
    )
    [breach] = document["picture"]["breaches"]
    window = window_of(document)
    assert len(window) == 400
    assert breach["cycle"] in window
    assert breach["cycle"] - window.start == 100


def test_transfers_of_one_master_have_one_colour(tmp_path: Path) -> None:
    document = tried(
        tmp_path, "name: a, master: 2, to: 3", "name: b, master: 0, to: 1, after: a", "name: c, master: 2, to: 1"
    )
    assert hues(document) == {"a": "master:3", "b": "master:1", "c": "master:3"}


@pytest.mark.parametrize("columns", [40, 80])
def test_no_line_of_nodes_is_wider_than_there_is_room(tmp_path: Path, columns: int) -> None:
    document = tried(tmp_path, "name: a, master: 0, to: 3, rows: 40")
    lines = [line for line in printed(document, columns) if line.startswith(("tile", "source", "sink"))]
    assert max(map(len, lines)) == columns
    assert sum(line.count("A") for line in lines) == 4 * 40


def test_masters_have_the_colours_that_they_have_on_pages(tmp_path: Path) -> None:
    transfers = [f"name: t{tile}, master: {tile}, to: {(tile + 1) % 4}, after: [{last}]"
                 for tile, last in enumerate(("", "t0", "t1", "t2"))]  # fmt: skip
    path = tmp_path / "t.yaml"
    path.write_text("\n".join(["tiles: 4", "transfers:", *(f"  - {{{each}}}" for each in transfers), ""]))
    trial = try_masters(path)
    numbers = masters_of(simulate(trial.program, []).statistics)
    found = {transfer["master"]: hues(trial.document)[transfer["name"]] for transfer in trial.document["transfers"]}
    assert found == {master: master_hue(numbers[master]) for master in found}
