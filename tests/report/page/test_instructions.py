"""The section of instructions: its columns unpack to what is listed, it says what is missing, and stays small."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.report.saved import made_up
from tilesim.errors import ProgramError
from tilesim.machines.instructions import Explanation, Wait
from tilesim.machines.program import Program
from tilesim.report.analysis.instructions import Listed, listed
from tilesim.report.document import SavedRun, load_run
from tilesim.report.page.build import encoded
from tilesim.report.page.instructions import NO_PROGRAM, NO_TRACE, instructions, packed
from tilesim.report.page.sections import report
from tilesim.tiled.isa.model.fields import Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import NarrowToWide

WORDS = st.sampled_from(["", "avdata ≥ 1", "avdata ≥ 2", "</script>", "\udc80"])


@st.composite
def listings(draw: st.DrawFn) -> list[Listed]:
    count = draw(st.integers(0, 12))
    places = st.lists(st.integers(0, max(0, count - 1)), max_size=3).map(tuple)
    waits = st.lists(st.builds(Wait, WORDS, places), max_size=3).map(tuple)
    tiles = st.lists(st.integers(0, 4), max_size=3).map(tuple)
    explanation = st.builds(Explanation, WORDS, WORDS, tiles, WORDS, waits)
    return [
        Listed(f"work{k}", draw(WORDS), draw(st.integers(-1, 3)), draw(WORDS), draw(explanation)) for k in range(count)
    ]


@given(listings())
def test_every_instruction_arrives(rows: list[Listed]) -> None:
    tables, columns = packed(rows)
    assert unpacked(json.loads(json.dumps(tables)), columns) == rows


def unpacked(tables: dict[str, list[Any]], columns: dict[str, Any]) -> list[Listed]:
    """What the page makes of the columns."""
    bys = [columns["by"][a:b] for a, b in pairwise([0, *columns["by_end"].tolist()])]
    rows = []
    for k, (a, b) in enumerate(pairwise([0, *columns["wait_end"].tolist()])):
        waits = tuple(
            Wait(tables["waits"][columns["wait"][w]], tuple(int(step) + k for step in bys[w])) for w in range(a, b)
        )
        of = {name: tables[name][columns[name][k]] for name in ("kinds", "units", "tiles", "raises", "operands")}
        explanation = Explanation(of["operands"], of["units"], tuple(of["tiles"]), of["raises"], waits)
        assembly = tables["assembly"][columns["assembly"][k]]
        rows.append(Listed(tables["labels"][k], of["kinds"], int(columns["layer"][k]), assembly, explanation))
    return rows


@pytest.fixture
def saved(tmp_path: Path) -> SavedRun:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x2"))
    tilesim.simulate(program, np.zeros((1, 1, 8, 8), np.float32)).save(tmp_path)
    tilesim.save_program(program, tmp_path / "program.tasm")
    return load_run(tmp_path)


def texts_of(run: SavedRun) -> dict[str, list[Any]]:
    texts: dict[str, list[Any]] = json.loads(instructions(run).columns["texts"].tobytes())
    return texts


def test_a_run_without_a_trace_has_the_program_all_the_same(saved: SavedRun) -> None:
    section = instructions(saved)
    assert saved.program is not None
    assert texts_of(saved)["labels"] == [row.label for row in listed(saved.program)]
    assert section.data["note"] == NO_TRACE
    assert section.data["tiles"] == 2


def test_without_a_program_it_says_how_to_get_one() -> None:
    assert instructions(made_up(None)).data == {"missing": NO_PROGRAM}


def test_a_program_that_cant_be_read_keeps_nothing_else_from_the_page(saved: SavedRun) -> None:
    (saved.folder / "program.tasm").write_text("nonsense")
    with pytest.raises(ProgramError):
        assert saved.program
    words = instructions(saved).data["missing"]
    assert words.startswith("The program beside this run can't be read: ")
    assert "program.tasm:1:1" in words
    assert "program.tasm:1:1" in report(saved)


def long(count: int) -> Program:
    """A program with so many instructions, hardly two of them alike."""
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2"))
    rng = np.random.default_rng(0)
    addresses = zip(*rng.integers(0, 1 << 16, (3, count)).tolist(), rng.integers(1, 16, count).tolist(), strict=True)
    run = tuple(
        NarrowToWide(
            tiles=tiles,
            read=Traversal(Nest((Loop("w", 64),)), Reference(4 * a, (("w", 4),))),
            write=Traversal(Nest((Loop("r", 1 + c % 30),)), Reference(256 * b, (("r", 256),))),
            wait=(Watcher(Flag.AVDATA, c),),
            produce="r",
            label=f"pack{k}",
        )
        for k, (a, b, c, tiles) in enumerate(addresses)
    )
    return replace(program, load=(), run=run)


def test_the_words_of_a_long_program_are_left_out_in_turn_and_it_says_so() -> None:
    run = made_up(None)
    vars(run)["program"] = long(20_000)
    section = instructions(run)
    assert "the words of the assembly are" in section.data["note"]
    assert texts_of(run)["assembly"] == []
    assert len(texts_of(run)["labels"]) == 20_000
    columns = {name: column for name, column in section.columns.items() if name != "texts"}
    assert len(encoded(section.columns["texts"])[1]) < 300_000
    assert sum(len(encoded(column)[1]) for column in columns.values()) < 300_000
