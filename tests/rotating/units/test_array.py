"""The array: a slot a cycle, and the first reason for which it can't issue one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.rotating.programs import PROLOGUE, Bare, chip
from tests.rotating.watched import Stretch, stretches
from tilesim.errors import AccessError
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    End,
    Function,
    Instruction,
    Loop,
    Mask,
    Out,
    Parameters,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Set,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.topology import Topology
from tilesim.rotating.units.array import actions
from tilesim.sim.core.action import Action

ROW = [*range(8)]
COPY = Step(data=Rows(0), alu=Alu.COPY)
LATE: dict[str, Any] = {"host": {"latency_cycles": PROLOGUE + 9, "bytes_per_cycle": 8}}
"""The host's rows are written in PROLOGUE + 10, and counted in the cycle after."""
COUNTED = PROLOGUE + 11


def program_of(*array: Instruction, topology: Topology | None = None, dma: Sequence[Instruction] = ()) -> Program:
    rows = dict.fromkeys(range(4), ROW)
    return Bare(topology or chip(8), array, rows, rows, dma=dma).program()


def behind(program: Program, holds: dict[str, int] | None = None) -> list[Stretch]:
    """What the array was at behind the prologue, cycles counted from there."""
    told = stretches(program, (), holds).by_track["nnu.array"]
    return [(start - PROLOGUE, cycles, kind) for start, cycles, kind, _ in told if start >= PROLOGUE]


@pytest.mark.parametrize(
    ("ops", "slots"),
    [
        ([Step(rotate=1, repeat=7)], 7),
        ([Step(data=Rows(0, (), 1), weights=Rows(0), alu=Alu.MULTIPLY_ADD, repeat=4)], 4),
        ([COPY, Out(row=Rows(9), data=Rows(1))], 2),
        ([Set(), Mask(), Parameters(row=Rows(500))], 3),
        ([Loop(count=3), Step(repeat=2), Loop(count=2), Step(), End(), End()], 3 * (2 + 2)),
        ([Sync(unit=Queue.ARRAY, until=Counter.ARRAY, count=0), Step()], 1),
    ],
)
def test_a_slot_takes_a_cycle_and_loops_syncs_and_halts_take_none(ops: list[Instruction], slots: int) -> None:
    told = stretches(program_of(*ops))
    assert told.of("array") == [(0, PROLOGUE + slots, "busy")]


@pytest.mark.parametrize("repeat", [1, 5])
def test_the_last_results_can_be_seen_two_cycles_after_the_last_slot(repeat: int) -> None:
    assert simulate(program_of(Step(alu=Alu.ADD, repeat=repeat)), []).cycles == PROLOGUE + repeat - 1 + 2


def test_an_out_captures_what_the_step_before_it_has_made() -> None:
    """And what its own load brings, for the accumulators are a stage later."""
    array = [Step(data=Rows(0), alu=Alu.COPY), Step(rotate=1, alu=Alu.ADD, repeat=2), Out(row=Rows(9))]
    run = simulate(Bare(chip(8), array, {0: [1, 0, 0, 0, 0, 0, 0, 0]}, {}).program([9]), [])
    assert run.outputs[0].reshape(-1).tolist() == [1, 1, 1, 0, 0, 0, 0, 0]


def test_each_reason_in_its_turn() -> None:
    """An out that waits for its set, then for a buffer, then for the row that it loads, then for the port."""
    topology = chip(8, output={"words_per_cycle": 1, "buffers": 1})
    array = [
        Out(row=Rows(9)),  # converted in 2 to 9, written in 10, seen in 11
        Parameters(row=Rows(500), set=1),  # fetched in 2 to 10
        Out(row=Rows(10), set=1, data=Rows(9)),
    ]
    assert behind(program_of(*array, topology=topology)) == [
        (0, 1, "busy"), (1, 1, "busy"), (2, 9, "stall:weights"), (11, 1, "busy"),
    ]  # fmt: skip
    ready = program_of(array[0], Out(row=Rows(10), data=Rows(9)), topology=topology)
    assert behind(ready) == [(0, 1, "busy"), (1, 9, "stall:fifo"), (10, 1, "stall:raw"), (11, 1, "busy")]


def test_a_row_that_is_seen_may_still_wait_for_its_port() -> None:
    """The row of an out issued in 0 is written in 3; another unit writes one in 4."""
    topology = chip(8, host={"latency_cycles": PROLOGUE + 3, "bytes_per_cycle": 8})
    come = ReadHostMemory(source="data", row=30)
    told = behind(program_of(Out(row=Rows(9)), Step(data=Rows(9)), topology=topology, dma=[come]))
    assert told == [(0, 1, "busy"), (1, 3, "stall:raw"), (4, 1, "stall:port"), (5, 1, "busy")]


@pytest.mark.parametrize(
    ("until", "dma", "reason"),
    [
        (Counter.DMA_IN, [ReadHostMemory(source="data", row=30)], "stall:input"),
        (Counter.DMA_OUT, [WriteHostMemory(destination="scratch")], "stall:raw"),
    ],
)
def test_a_sync_is_met_in_the_cycle_in_which_all_is_counted(
    until: Counter, dma: list[Instruction], reason: str
) -> None:
    """A row that leaves is read in 0 and on the link from the next cycle on."""
    program = program_of(Sync(unit=Queue.ARRAY, until=until, count=1), COPY, topology=chip(8, **LATE), dma=dma)
    assert behind(program) == [(0, COUNTED - PROLOGUE, reason), (COUNTED - PROLOGUE, 1, "busy")]


def test_a_sync_in_a_loop_waits_for_more_in_each_turn() -> None:
    topology = chip(8, host={"latency_cycles": 9, "bytes_per_cycle": 8})
    waits = Sync(unit=Queue.ARRAY, until=Counter.DMA_IN, count=2, strides=(1,))
    come = ReadHostMemory(source="data", row=20, rows=5)
    told = behind(program_of(Loop(count=3), waits, COPY, End(), topology=topology, dma=[come]))
    at = [10 * (rows + 2) + 1 - PROLOGUE for rows in range(3)]
    assert [start for start, _, kind in told if kind == "busy"] == at


def test_its_own_outs_are_counted_in_the_cycle_after_their_issue() -> None:
    array = [Out(row=Rows(9)), Sync(unit=Queue.ARRAY, until=Counter.ARRAY, count=1), Step()]
    assert behind(program_of(*array)) == [(0, 1, "busy"), (1, 1, "busy")]


def test_each_repetition_waits_for_its_own_port() -> None:
    """Rows of weights come in cycles 12 + 2 and 12 + 5: the third slot, and the last, are a cycle later."""
    topology = chip(8, host={"latency_cycles": 2, "bytes_per_cycle": 8})
    come = ReadHostMemory(source="data", ram=Ram.WEIGHT, row=40, rows=7)
    reading = Step(weights=Rows(0), alu=Alu.MULTIPLY_ADD, repeat=6)
    told = behind(program_of(Step(), reading, topology=topology, dma=[come]))
    assert [start for start, _, kind in told if kind == "stall:port"] == [3, 6]
    assert sum(cycles for _, cycles, kind in told if kind == "busy") == 7


@pytest.mark.parametrize("cycle", [0, PROLOGUE + 1, PROLOGUE + 9, 60])
@pytest.mark.parametrize("op", [COPY, Out(row=Rows(9)), Set(), Mask(), Parameters(row=Rows(500))])
def test_an_instruction_that_is_held_begins_then(op: Instruction, cycle: int) -> None:
    held = type(op)(**{**vars(op), "label": "held"})
    told = stretches(program_of(Step(), held, Step()), (), {"held": cycle})
    waits = max(0, cycle - PROLOGUE - 1)
    [begun] = [start for start, _, kind, label in told.by_track["nnu.array"] if (kind, label) == ("busy", "held")]
    assert begun == PROLOGUE + 1 + waits
    assert sum(cycles for _, cycles, kind in told.of("array") if kind == "stall:hold") == waits


@pytest.mark.parametrize("alu", Alu)
@pytest.mark.parametrize("word_bits", [8, 16])
def test_what_a_step_costs(alu: Alu, word_bits: int) -> None:
    topology = chip(8, units={"word_bits": word_bits})
    op = Step(data=Rows(0), rotate=0, weights=Rows(0), alu=alu, repeat=3)
    arithmetic = {
        Alu.NONE: None,
        Alu.MULTIPLY_ADD: Action.MAC_8X8 if word_bits == 8 else Action.MAC_16X16,
        Alu.ADD: Action.ADD_32,
        Alu.MAX: Action.ADD_8,
        Alu.COPY: Action.ADD_8,
        Alu.PLANE: Action.ADD_32,
    }[alu]
    costs = {action: count for action, count in actions(op, topology).items() if count}
    expected = {Action.BUFFER_READ: 3 * 2 * topology.row_bytes}
    if arithmetic:
        expected |= {arithmetic: 3 * 8, Action.ACCUMULATOR_WRITE: 3 * 8 * 4}
        expected |= {} if alu is Alu.COPY else {Action.ACCUMULATOR_READ: 3 * 8 * 4}
    assert costs == expected
    assert actions(Step(rotate=5, repeat=2), topology)[Action.CELL_HOP] == 2 * topology.row_bytes


def test_a_sum_without_room_names_the_instruction_and_the_unit() -> None:
    topology = chip(8, units={"accumulator_bits": 8, "overflow": "refuse"})
    doubling = Step(data=Rows(0), alu=Alu.ADD, label="adds", repeat=30)
    with pytest.raises(AccessError, match="adds: the accumulator of unit 7 must be -128 to 127, not 133"):
        simulate(program_of(doubling, topology=topology), [])


def test_a_function_that_needs_no_set_waits_for_none() -> None:
    array = [Parameters(row=Rows(500), set=1), COPY, Out(row=Rows(9), function=Function.RAW)]
    assert behind(program_of(*array)) == [(0, 1, "busy"), (1, 1, "busy"), (2, 1, "busy")]
