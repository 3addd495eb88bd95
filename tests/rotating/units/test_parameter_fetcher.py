"""The parameter fetcher: a row in each cycle in which nobody else reads the weight RAM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rotating.programs import chip, parameter_words
from tilesim.rotating.isa.model.instructions import Parameters, Rows
from tilesim.rotating.layout import words_in_rows
from tilesim.rotating.topology import Topology
from tilesim.rotating.units.parameter_fetcher import ParameterFetcher
from tilesim.rotating.units.row_memory import RowMemory
from tilesim.sim.core.action import Action
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import Unit

BIAS = [7, -9, 1 << 30, -(1 << 31), 0, 1, 2, 3]
MULTIPLIER = [(1 << 30) + 5 * k for k in range(8)]
SHIFT = [1, 0, -3, -31, 2, -1, -128, 127]
SET, TABLE = Parameters(row=Rows(0), label="set"), Parameters(row=Rows(16), table=True, label="table")
OTHER = Parameters(row=Rows(0), set=1, label="other")


def fetcher(topology: Topology) -> ParameterFetcher:
    """With a set in rows 0 on, and a table in rows 16 on."""
    ram = RowMemory("nnu.weight_ram", 64, topology.row_bytes, topology.weight_ram.ports, 2)
    rows = words_in_rows(parameter_words(topology, BIAS, MULTIPLIER, SHIFT), topology)
    ram.rows[:, : len(rows)] = rows.reshape(-1, topology.row_bytes)
    table = words_in_rows(np.arange(256).reshape(-1, 8) - 128, topology).reshape(-1, topology.row_bytes)
    ram.rows[:, 16 : 16 + len(table)] = table
    made = ParameterFetcher(Unit(Clock(), "nnu.parameters"), topology, ram)
    made.unit.restart()
    made.restart()
    return made


@pytest.mark.parametrize(("word_bits", "rows"), [(8, 9), (16, 5)])
def test_a_set_comes_a_row_a_cycle_and_is_there_in_the_cycle_after_the_last(word_bits: int, rows: int) -> None:
    made = fetcher(chip(8, units={"word_bits": word_bits}))
    made.request(SET, 0, 4)
    assert made.rows_until(lambda _: True) == rows
    made.advance(4 + rows - 1)
    assert (made.rows_until(lambda _: True), made.sets, made.pending) == (1, {}, True)
    made.advance(4 + rows)
    scales = made.sets[0]
    assert not made.pending
    assert [scales.bias.tolist(), scales.multiplier.tolist(), scales.shift.tolist()] == [BIAS, MULTIPLIER, SHIFT]
    assert made.unit.cycles == {"idle": 4, "busy": rows}


def test_a_table_has_an_entry_a_word() -> None:
    made = fetcher(chip(8))
    made.request(TABLE, 16, 0)
    pending = []
    for cycle in (31, 32):
        made.advance(cycle)
        pending.append(made.pending)
    assert pending == [True, False]
    assert made.table is not None
    assert made.table.tolist() == [*range(-128, 128)]


def test_requests_are_met_in_order_and_each_says_how_far_it_is() -> None:
    made = fetcher(chip(8))
    for op in (SET, OTHER, TABLE):
        made.request(op, op.row.row, 2)
    assert made.rows_until(lambda op: op.set == 1) == 18
    made.advance(2 + 10)
    assert sorted(made.sets) == [0]
    assert made.rows_until(lambda op: not op.table and op.set == 0) == 0
    assert made.rows_until(lambda op: op.set == 1) == 8
    assert made.rows_until(lambda op: op.table) == 8 + 32
    made.advance(2 + 18 + 32)
    assert sorted(made.sets) == [0, 1]
    assert made.unit.acted == {Action.BUFFER_READ: {"set": 72, "other": 72, "table": 256}}


def test_a_section_begins_without_any() -> None:
    made = fetcher(chip(8))
    made.request(SET, 0, 0)
    made.request(TABLE, 16, 0)
    made.advance(20)
    made.restart()
    assert (made.sets, made.table, made.pending) == ({}, None, False)


@pytest.mark.parametrize(("ports", "denied"), [("single", 2), ("dual", 0)])
def test_rows_that_come_keep_it_from_a_single_port(ports: str, denied: int) -> None:
    topology: Any = chip(8, weight_ram={"ports": ports})
    made = fetcher(topology)
    for cycle in (3, 5, 40):
        made._ram.use_for_writing(cycle)
    made.request(SET, 0, 2)
    made.advance(60)
    assert made.unit.cycles.get("stall:port", 0) == denied
    assert made.unit.accounted_until == 2 + 9 + denied  # what comes behind is idleness that is not told yet


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)), st.integers(0, 10), st.lists(st.integers(0, 60)))
def test_it_takes_the_first_cycles_that_nobody_else_does(
    reads: set[int], writes: set[int], begin: int, asked: list[int]
) -> None:
    """However often it is asked on the way."""
    made = fetcher(chip(8))
    made.request(SET, 0, begin)
    for cycle in sorted(reads):
        made.keep_out(cycle, cycle + 1)
    for cycle in writes:
        made._ram.use_for_writing(cycle)
    free = [cycle for cycle in range(begin, 100) if cycle not in reads | writes][:9]
    for cycle in sorted(asked):
        made.advance(cycle)
        assert bool(made.sets) == (free[-1] < cycle)
        assert made.rows_until(lambda _: True) == sum(one >= cycle for one in free)
    made.advance(100)
    assert made.unit.cycles["busy"] == 9
    assert made.unit.cycles.get("stall:port", 0) == free[-1] + 1 - begin - 9
