"""Tables that no program can have made are refused before C sees them: by table, row and column."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import tilesim
from tests.tiled.corpus.holds import random_holds
from tests.tiled.corpus.programs import random_program
from tests.tiled.corpus.records import with_records
from tilesim.machines.frame import named
from tilesim.tiled.flat.checks import COLUMN, TableFault, checked
from tilesim.tiled.flat.columns import (
    CHIP,
    KNOWN,
    MESH_OUT,
    OF_CHIP,
    OF_OPS,
    OPS,
    SENDINGS,
    STEPS,
    Bitmap,
    Number,
    Rows,
)
from tilesim.tiled.flat.coverage import uncovered
from tilesim.tiled.flat.tables import Tables, tables_of
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.run.delayed_issue import holds_of

HUGE = 1 << 62


def of_corpus(count: int) -> Iterator[Tables]:
    for number in range(count):
        bare = random_program(number)
        for program in (bare, with_records(bare, number)):
            if not uncovered(program):
                yield tables_of(named(program), holds=holds_of(named(program), random_holds(program, number)))


CORPUS = [*of_corpus(60)]


def who(tables: Tables, row: int) -> str:
    kind, engine = (int(tables.ops[row, COLUMN[name]]) for name in ("kind", "engine"))
    return OPS[kind] if kind else KNOWN[engine]


def a_row(*of: str, count: str = "") -> tuple[Tables, int]:
    """Tables of the corpus, and a row of one of these; ``count``: the column says that there is a list."""
    return next(
        (tables, row)
        for tables in CORPUS
        for row in range(len(tables.ops))
        if who(tables, row) in of and (not count or tables.ops[row, COLUMN[count]])
    )


def spoiled(tables: Tables, table: str, place: Any, number: int) -> Tables:
    array = getattr(tables, table).copy()
    array[place] = number
    return replace(tables, **{table: array})


def must_be_refused(tables: Tables, fault: str) -> None:
    with pytest.raises(TableFault, match=f"^{fault}"):
        checked(tables)


def refused_in_ops(tables: Tables, row: int, name: str, number: int, must: str) -> None:
    """With that number in a row of the instructions, the tables are refused for it."""
    fault = f"ops, row {row}, column {name}: must be {must}"
    must_be_refused(spoiled(tables, "ops", (row, COLUMN[name]), number), fault)


def refused_in_pool(tables: Tables, place: int, number: int, column: str, must: str) -> None:
    must_be_refused(spoiled(tables, "pool", place, number), f"pool, row {place}, column {column}: must be {must}")


def refused_in_chip(tables: Tables, name: str, number: int, must: str) -> None:
    fault = f"chip, row 0, column {name}: must be {must}"
    must_be_refused(spoiled(tables, "chip", CHIP.index(name), number), fault)


def test_the_tables_of_programs_are_right() -> None:
    for tables in CORPUS:
        assert checked(tables) is tables
    for network, chip in (("pocket", "edge-2x2"), ("digits", "edge-4x4"), ("digits", "fig2-5x2")):
        checked(tables_of(tilesim.compile(tilesim.load_network(network), tilesim.load_topology(chip))))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name, column in OF_OPS.items() if isinstance(column.holds, Number)])
def test_a_number_keeps_within_its_bounds(name: str) -> None:
    holds, of = OF_OPS[name].holds, OF_OPS[name].of
    assert isinstance(holds, Number)
    tables, row = a_row(*of)
    for wrong in (holds.least - 1, HUGE):
        refused_in_ops(
            tables, row, name, wrong, rf"from \d+ to \d+, not {wrong}$" if holds.least >= 0 else "from -1 to"
        )


@pytest.mark.parametrize("name", OF_CHIP)
def test_a_number_of_the_chip_does(name: str) -> None:
    least = OF_CHIP[name].least
    for wrong in (least - 1, HUGE):
        refused_in_chip(CORPUS[0], name, wrong, rf"from {least} to \d+, not {wrong}$")


@pytest.mark.parametrize("name", [name for name, column in OF_OPS.items() if isinstance(column.holds, Bitmap)])
def test_a_bitmap_is_there_and_has_bits_for_what_there_is(name: str) -> None:
    tables, row = a_row(*OF_OPS[name].of)
    end = tables.bitmaps.size
    for wrong in (-1, end):
        refused_in_ops(tables, row, name, wrong, f"from 0 to {end - 1}, not {wrong}$")
    longer = replace(tables, bitmaps=np.append(tables.bitmaps, np.uint64(HUGE)))
    refused_in_ops(longer, row, name, end, r"a bitmap of \d bits, not one of 63$")


LISTS = {name: column for name, column in OF_OPS.items() if isinstance(column.holds, Rows)}


def listed(name: str) -> tuple[Tables, int, int]:
    """Tables, a row with such a list, and where that begins in the pool; of rises, one that is made up."""
    holds, of = LISTS[name].holds, LISTS[name].of
    assert isinstance(holds, Rows)
    if name != "rises":
        tables, row = a_row(*of, count=holds.length)
        return tables, row, int(tables.ops[row, COLUMN[name]])
    tables, row = a_row(*of)
    start = len(tables.pool)
    ops = tables.ops.copy()
    for column, number in {"rises": start, "rise_count": 2, "rounds": 9}.items():
        ops[row, COLUMN[column]] = number
    if who(tables, row) == Engine.TENSOR:
        ops[row, [COLUMN["runs"], COLUMN["run_count"]]] = start + 2, 1
    made = replace(tables, ops=ops, pool=np.concatenate([tables.pool, [4, 9, 9, 0, 1, 1, 0]]))
    return checked(made), row, start


@pytest.mark.parametrize("name", LISTS)
def test_a_list_lies_in_the_pool(name: str) -> None:
    tables, row, _ = listed(name)
    holds, size = LISTS[name].holds, len(tables.pool)
    assert isinstance(holds, Rows)
    for wrong in (-1, size):
        refused_in_ops(tables, row, name, wrong, f"from 0 to {size - 1}, not {wrong}$")
    refused_in_ops(tables, row, holds.length, size + 1, r"from 0 to \d+, not")
    at_the_end = spoiled(tables, "ops", (row, COLUMN[name]), size - 1)
    ends = size - 1 + 2 * len(holds.fields)
    fault = f"ops, row {row}, column {name} with its {holds.length}: must be from 0 to {size}, not {ends}$"
    must_be_refused(spoiled(at_the_end, "ops", (row, COLUMN[holds.length]), 2), fault)


@pytest.mark.parametrize("name", LISTS)
def test_what_a_list_holds_keeps_within_its_bounds(name: str) -> None:
    tables, _, start = listed(name)
    holds = LISTS[name].holds
    assert isinstance(holds, Rows)
    for k, (field, bounds) in enumerate(holds.fields.items()):
        for wrong in (bounds.least - 1, HUGE + 1):
            must = rf"from {bounds.least} to \d+, not {wrong}$"
            refused_in_pool(tables, start + k, wrong, f"{field} of {name}", must)


def test_lists_are_in_order() -> None:
    tables, _, start = listed("rises")
    refused_in_pool(tables, start + 1, 4, "iteration of rises", "at least 5, not 4")
    tables, row, start = listed("runs")
    rounds, runs = (int(tables.ops[row, COLUMN[name]]) for name in ("rounds", "run_count"))
    refused_in_pool(tables, start + 5 * (runs - 1), rounds + 1, "end of runs", f"{rounds}, not {rounds + 1}")


@pytest.mark.parametrize("name", ["least_issues", "least_writes"])
def test_no_group_takes_less_than_is_said(name: str) -> None:
    tables, row = a_row(Engine.TENSOR)
    least = int(tables.ops[row, COLUMN[name]])
    refused_in_ops(tables, row, name, least + 1, f"{least}, the least of its runs, not {least + 1}")


def test_a_header_names_stops_for_its_kind() -> None:
    tables, row = a_row(*KNOWN)
    last, tiles = int(tables.ops[row, COLUMN["last_stop"]]), int(tables.chip[CHIP.index("tiles")])
    refused_in_ops(tables, row, "last_stop", last + 1, f"{last}, the header's last bit, not {last + 1}")
    of_classifier = np.append(tables.bitmaps, np.uint64(1 << tiles))
    elsewhere = spoiled(replace(tables, bitmaps=of_classifier), "ops", (row, COLUMN["last_stop"]), tiles)
    refused_in_ops(elsewhere, row, "header", len(tables.bitmaps), rf"a bitmap of {tiles} bits, not one of {tiles + 1}")


@pytest.mark.parametrize("engine", MESH_OUT)
def test_nothing_leaves_the_grid(engine: str) -> None:
    tables, row = a_row(*MESH_OUT)
    chip = tables.chip.copy()
    tiles = int(chip[CHIP.index("tiles")])
    chip[CHIP.index("columns")] = tiles if engine.endswith(("north", "south")) else 1
    spoilt = spoiled(replace(tables, chip=chip), "ops", (row, COLUMN["engine"]), KNOWN.index(engine))  # type: ignore[arg-type]
    must_be_refused(spoilt, r"ops, row \d+, column header: must be tiles with a neighbour for mesh_out_\w+, not 0b1")


def test_destinations_and_transfers_are_counted() -> None:
    tables, row = a_row(Engine.RING_PRODUCER)
    count, transfers = int(tables.ops[row, COLUMN["destinations"]]), int(tables.chip[CHIP.index("transfers")])
    refused_in_ops(tables, row, "destinations", count + 1, f"{count}, as many as `to` has, not {count + 1}")
    refused_in_chip(tables, "transfers", transfers + 1, f"{transfers}, as many as .*, not {transfers + 1}$")
    tables, row = a_row("infeed")
    refused_in_ops(tables, row, "transfers", 99, r"at most \d+, not 99")


@pytest.mark.parametrize("name", ["accounts", "bitmap_words", "columns"])
def test_the_chip_agrees_with_itself(name: str) -> None:
    right, tiles = (int(CORPUS[0].chip[CHIP.index(each)]) for each in (name, "tiles"))
    refused_in_chip(CORPUS[0], name, right + tiles, rf"\d+ for {tiles} tiles, not {right + tiles}$")


@pytest.mark.parametrize(
    ("table", "change", "fault"),
    [
        ("ops", lambda array: array.astype(np.int32), "must be int64 of shape .*, not int32"),
        ("ops", lambda array: array[:, :-1].copy(), "must be int64 of shape"),
        ("ops", np.asfortranarray, "must be .*, not in one piece"),
        ("pool", lambda array: array[:, None].copy(), "must be int64 of shape"),
        ("pool", lambda array: np.repeat(array, 2)[::2], "must be .*, not in one piece"),
        ("bitmaps", lambda array: array.astype(np.int64), "must be uint64 of shape"),
        ("chip", lambda array: array[1:].copy(), "must be int64 of shape"),
    ],
)
def test_arrays_are_as_c_takes_them(table: str, change: Any, fault: str) -> None:
    some = next(tables for tables in CORPUS if tables.pool.size > 1)
    tables = replace(some, **{table: change(getattr(some, table))})
    must_be_refused(tables, f"{table}, all rows and columns: {fault}")


def test_what_the_host_sends_must_be_rows_or_not() -> None:
    tables = next(tables for tables in CORPUS if tables.sent[1][:, 2].any())
    load, run = tables.sent
    for column, number, must in (
        (0, -1, "from 0 to"),
        (1, HUGE, "from 0 to"),
        (2, 2, "from 0 to 1"),
        (3, 1, "from 0 to 0"),
    ):
        odd = run.copy()
        odd[0, column] = number
        must_be_refused(replace(tables, sent=(load, odd)), f"sent in run, row 0, column .*: must be {must}")
    must_be_refused(replace(tables, sent=(load, run[:, :2])), "run, all rows and columns: must be int64 of shape")
    twice = np.concatenate([run, run])
    must_be_refused(replace(tables, sent=(load, twice)), "chip, row 0, column host_rows: must be at least")
    announced = np.zeros((9, len(SENDINGS)), np.int64)
    must_be_refused(replace(tables, sent=(load, announced)), "chip, row 0, column requests: must be at least 9, not 1")


def test_steps_of_the_host_have_not_begun_yet() -> None:
    tables = CORPUS[0]
    for column, number, must in ((0, -1, "from 0 to"), (1, HUGE, "from 0 to"), (2, 1, "from 0 to 0")):
        steps = np.zeros((2, len(STEPS)), np.int64)
        steps[1, column] = number
        must_be_refused(replace(tables, steps=steps), f"steps, row 1, column {STEPS[column]}: must be {must}")


def test_rows_are_made_by_steps_that_there_are() -> None:
    tables = next(tables for tables in CORPUS if tables.sent[1][:, 2].any())
    load, run = (each.copy() for each in tables.sent)
    run[:, SENDINGS.index("step")] = 2
    made = replace(tables, sent=(load, run), steps=np.zeros((2, len(STEPS)), np.int64))
    assert checked(made) is made
    run[-1, SENDINGS.index("step")] = 3
    must_be_refused(made, f"sent in run, row {len(run) - 1}, column step: must be from 0 to 2, not 3")


def test_requests_begin_behind_no_more_fences_than_there_are() -> None:
    tables, row = a_row("scalar_fence")
    refused_in_chip(spoiled(tables, "ops", (row, COLUMN["begins"]), 1), "requests", 1, "at least 2, not 1")
