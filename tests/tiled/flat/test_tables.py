"""Programs as tables: what rows say, and what is refused by name."""

from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tests.tiled.corpus.programs import random_program
from tilesim.tiled.flat.columns import COLUMNS
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.flat.tables import Tables, tables_of
from tilesim.tiled.isa.model.fields import ByteFilter
from tilesim.tiled.isa.model.instructions import Broadcast, NarrowToWide, RingConsume, TensorOp
from tilesim.tiled.isa.model.program import Program, Request


@pytest.fixture(scope="module")
def program() -> Program:
    compiled = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("edge-2x2"))
    assert isinstance(compiled, Program)
    return compiled


def column(tables: Tables, name: str) -> list[int]:
    numbers: list[int] = tables.ops[:, COLUMNS.index(name)].tolist()
    return numbers


def test_there_is_a_row_for_each_instruction(program: Program) -> None:
    tables = tables_of(program)
    ops = (*program.load, *program.run)
    assert tables.ops.shape == (len(ops), len(COLUMNS))
    assert column(tables, "layer") == [op.layer + 1 for op in ops]
    assert {len(ops)} == {len(column(tables, name)) for name in COLUMNS}


def test_words_are_those_that_the_bus_carries(program: Program) -> None:
    wide = program.topology.instruction_bus.model_copy(update={"width_bytes": 64})
    topology = program.topology.model_copy(update={"instruction_bus": wide})
    words = [op.words for op in (*program.load, *program.run)]
    assert column(tables_of(program), "words") == words
    assert column(tables_of(replace(program, topology=topology)), "words") == [-(-n // 4) for n in words]


def test_runs_cover_all_groups(program: Program) -> None:
    tables, ops = tables_of(program), (*program.load, *program.run)
    for row, op in zip(tables.ops.tolist(), ops, strict=True):
        if isinstance(op, TensorOp):
            ends = tables.pool[row[COLUMNS.index("runs")] :: 5]
            assert row[COLUMNS.index("rounds")] in ends


def test_equal_lists_and_bitmaps_stand_once(program: Program) -> None:
    tables = tables_of(program)
    twice = tables_of(replace(program, run=(*program.run, *program.run)))
    assert np.array_equal(tables.pool, twice.pool)
    assert np.array_equal(tables.bitmaps, twice.bitmaps)


def test_what_is_not_covered_is_named(program: Program) -> None:
    assert uncovered(program) == []
    ring = program.topology.ring.model_copy(update={"no_consumer": "circulate", "queue": "shared"})
    odd = replace(program, topology=program.topology.model_copy(update={"ring": ring}))
    assert uncovered(odd) == [
        "ring.no_consumer must be stall for the compiled engine, not circulate",
        "ring.queue must be split for the compiled engine, not shared",
    ]
    many = replace(program, requests=(Request("a", 1),) * 65)
    assert uncovered(many) == ["requests must be at most 64 for the compiled engine, not 65"]


def test_instructions_that_are_not_covered_are_named(program: Program) -> None:
    taken = next(op for op in (*program.load, *program.run) if isinstance(op, RingConsume))
    filtered = replace(taken, filter=ByteFilter(1, 0, 4, 4), label="picks")
    odd = replace(program, run=(Broadcast(tiles=1, label="passes"), filtered))
    assert uncovered(odd) == [
        "passes: a tile's own broadcast is not covered by the compiled engine",
        "picks: a byte filter is not covered by the compiled engine",
    ]


def test_a_copy_moves_a_row_in_words() -> None:
    programs = (random_program(number) for number in range(40))
    program = next(p for p in programs if any(isinstance(op, NarrowToWide) for op in p.run) and not uncovered(p))
    chip, ops = program.topology, (*program.load, *program.run)
    words = chip.wide_memory.row_bytes // chip.narrow_memory.word_bytes
    places = [k for k, op in enumerate(ops) if isinstance(op, NarrowToWide)]
    tables = tables_of(program)
    assert {(column(tables, "reads_a_row")[k], column(tables, "writes_a_row")[k]) for k in places} == {(words, 1)}
