"""Lines of text, a cycle each: columns stand below one another, and fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import tilesim
from tests.report.test_watch import OVERLAP, pocket, watched
from tilesim.errors import InputError
from tilesim.report.watch_text import REPEATED, lines
from tilesim.run import Run

ROOT = Path(__file__).parents[2]


def text_of(run: Run, machine: str = "tiled", patterns: Sequence[str] = (), width: int = 120) -> list[str]:
    watch = watched(run, machine, patterns)
    return list(lines(watch, list(watch.instructions), width))


def table(text: Sequence[str]) -> list[str]:
    """The lines of cycles."""
    return [line for line in text if line[:5].strip().isdigit() and line[6] == "|"]


@pytest.mark.parametrize("chip", ["pocket-2x1", "systolic-4"])
@pytest.mark.parametrize("width", [120, 200])
def test_every_cycle_has_a_line_that_fits(chip: str, width: int) -> None:
    machine = tilesim.load_topology(chip).machine
    run = pocket(chip, range(1 << 40))
    text = text_of(run, machine, width=width)
    assert max(map(len, text)) <= width
    rows = table(text)
    assert [int(row[:5]) for row in rows] == [*range(run.cycles)]
    heads = [line for line in text if line.startswith("cycle | ")]
    assert len(heads) == -(-run.cycles // REPEATED)
    [bars] = {tuple(k for k, one in enumerate(line) if one == "|") for line in heads}
    assert all(row[bar] == "|" for row in rows for bar in bars)
    starts = [k for k in range(8, bars[-1]) if heads[0][k] not in " |" and heads[0][k - 1] in " |"]
    assert all(row[start - 1] in " |" for row in rows for start in starts if heads[0][start - 2] in " |")


def test_labels_stand_in_cells_where_there_is_room() -> None:
    run = tilesim.simulate(tilesim.load_program(OVERLAP), trace=True, rules="observe", signals=range(18, 23))
    text = text_of(run, patterns=["chip.tile*.ring_*"])
    assert text == [
        "  first.send     busy with the instruction",
        "  ~fifo          waits at a FIFO",
        "  ~credit        waits for a credit",
        "  .              idle",
        "  changes        flags and queues with their new counts; … where there are more than fit",
        "",
        "      | Tile 0        | Tile 1        | Tile 2        | Tile 3        |",
        "cycle | ring producer | ring producer | ring consumer | ring consumer | changes",
        "------+---------------------------------------------------------------+--------",
        "   18 | first.send    | other.send    | first.receive | ~fifo         |",
        "   19 | first.send    | ~credit       | ~fifo         | ~fifo         |",
        "   20 | first.send    | other.send    | first.receive | ~fifo         |",
        "   21 | .             | other.send    | ~fifo         | ~fifo         | tile0.ring_producer_a=1",
        "   22 | .             | other.send    | first.receive | other.receive | tile1.ring_producer_a=1",
    ]


def test_else_instructions_have_numbers_that_are_told_before() -> None:
    run = tilesim.simulate(tilesim.load_program(OVERLAP), trace=True, rules="observe", signals=range(18, 23))
    text = text_of(run)
    assert "  instructions   1 first.send, 2 other.send, 3 first.receive, 4 other.receive" in text
    assert re.sub(" +", " ", table(text)[2]) == " 20 | >1:3 >2:0 1:2 . | 1 | 2 | 3 | ~fifo |"


def test_of_many_instructions_each_is_told_when_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesim.report.watch_text.MOST_LISTED", 3)
    run = tilesim.simulate(tilesim.load_program(OVERLAP), trace=True, rules="observe", signals=range(1 << 40))
    said = [row.rpartition("| ")[2] for row in table(text_of(run)) if " is " in row]
    assert said == ["1 is first.receive", "2 is other.receive", "3 is first.send", "4 is other.send"]


def test_more_than_fits_is_refused() -> None:
    with pytest.raises(InputError, match=r"29 units are at work in the cycles 0 to 224, .* choose some with --units, "):
        text_of(pocket("pocket-2x1", range(1 << 40)), width=100)
    with pytest.raises(InputError, match="no unit that matches --units is at work in the cycles 0 to 9"):
        text_of(pocket("pocket-2x1", range(10)), patterns=["chip.tile1.mesh*"])
    with pytest.raises(InputError, match="the run ends before cycle 1,000, from which on it is to be shown"):
        text_of(pocket("pocket-2x1", range(1000, 1010)))
