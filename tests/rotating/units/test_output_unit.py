"""The output unit: captured, converted, written, seen; each in its cycle and not before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.rotating.programs import PROLOGUE, Bare, chip
from tests.rotating.watched import after_each_cycle, first_seen, rows_seen, stretches
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    Function,
    Instruction,
    Mask,
    Out,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Step,
    Sync,
)
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.topology import Topology
from tilesim.sim.core.action import Action

COPY = Step(data=Rows(0), alu=Alu.COPY)
ROW = [1, 2, 3, 4, 5, 6, 7, 8]
ISSUED = PROLOGUE + 1
"""When an out behind a copy is issued."""


def copying(topology: Topology, *array: Instruction, dma: Sequence[Instruction] = (), **fields: Any) -> Program:
    return Bare(topology, [COPY, *array], {0: ROW}, {}, dma=dma, **fields).program()


def slow(words: int, latency: int, **output: int) -> Topology:
    return chip(8, output={"words_per_cycle": words, "latency_cycles": latency, **output})


RATES = [(0, 1), (8, 4), (3, 1), (1, 2)]


def conversion(words: int) -> int:
    return -(-8 // (words or 8))


@pytest.mark.parametrize(("words", "latency"), RATES)
def test_a_row_is_written_its_latency_after_the_last_cycle_of_its_conversion(words: int, latency: int) -> None:
    program = copying(slow(words, latency), Out(row=Rows(9)))
    written = ISSUED + 2 + conversion(words) - 1 + latency
    assert first_seen(rows_seen(program, [9]), [ROW]) == written + 1
    assert simulate(program, []).cycles == written + 1
    assert stretches(program).of("output") == [(ISSUED + 2, conversion(words), "busy")]


@pytest.mark.parametrize(("words", "latency"), RATES)
def test_a_written_row_is_counted_and_can_be_loaded_in_the_next_cycle(words: int, latency: int) -> None:
    written = ISSUED + 1 + conversion(words) + latency
    loading = copying(slow(words, latency), Out(row=Rows(9)), Step(data=Rows(9)))
    assert stretches(loading).of("array")[-2:] == [
        (ISSUED + 1, written - ISSUED, "stall:raw"),
        (written + 1, 1, "busy"),
    ]
    counts = after_each_cycle(loading, lambda made: made.counts.count(Counter.OUTPUT))
    assert first_seen(counts, 1) == written + 2  # it rises in the cycle after the write
    waiting = copying(
        slow(words, latency), Out(row=Rows(9)), Sync(unit=Queue.ARRAY, until=Counter.OUTPUT, count=1), Step()
    )
    assert stretches(waiting).of("array") == stretches(loading).of("array")


@pytest.mark.parametrize(("words", "latency"), RATES)
@pytest.mark.parametrize("buffers", [1, 2, 3, 7])
def test_outs_are_converted_one_after_the_other_as_fast_as_buffers_are_free(
    words: int, latency: int, buffers: int
) -> None:
    """A buffer takes the next out two cycles after the end of a conversion at the earliest: with enough of them the
    unit never rests, with fewer it converts as many as there are in the time that one of them takes.
    """
    cycles = conversion(words)
    told = stretches(copying(slow(words, latency, buffers=buffers), *(Out(row=Rows(9 + k)) for k in range(6))))
    begun = [ISSUED + 2 + max(k * cycles, k // buffers * (cycles + 2) + k % buffers * cycles) for k in range(6)]
    assert [start for start, *_ in told.by_track["nnu.output"]] == begun
    assert told.busy("output") == [start + k for start in begun for k in range(cycles)]
    assert told.cycles == begun[-1] + cycles + latency


@pytest.mark.parametrize("buffers", [1, 2, 4])
def test_a_buffer_is_held_from_the_capture_to_the_end_of_the_conversion(buffers: int) -> None:
    program = copying(slow(2, 1, buffers=buffers), *(Out(row=Rows(9 + k)) for k in range(5)))
    held = after_each_cycle(program, lambda made: made.output.held)
    busy = stretches(program).by_track["nnu.output"]
    issued = [
        start + k
        for start, cycles, kind, label in stretches(program).by_track["nnu.array"]
        for k in range(cycles)
        if kind == "busy" and start >= ISSUED and label
    ]
    assert len(issued) == len(busy) == 5
    expected = [
        sum(out + 1 <= cycle < begun + cycles for out, (begun, cycles, *_) in zip(issued, busy, strict=True))
        for cycle in range(len(held))
    ]
    assert held == expected
    assert max(held) == buffers


def test_the_rows_of_a_raw_out_are_written_as_they_are_converted() -> None:
    """It keeps its buffer up to the end of the fourth."""
    program = copying(slow(4, 3), Out(row=Rows(9), function=Function.RAW))
    seen = rows_seen(program, range(9, 13))
    counts = after_each_cycle(program, lambda made: made.counts.count(Counter.OUTPUT))
    written = [ISSUED + 2 + 2 * (k + 1) - 1 + 3 for k in range(4)]
    assert [first_seen(counts, k + 1) - 2 for k in range(3)] == written[:3]
    assert first_seen([rows[0] for rows in seen], ROW) == written[0] + 1
    assert len(seen) == written[3] + 1
    held = after_each_cycle(program, lambda made: made.output.held)
    assert [cycle for cycle, count in enumerate(held) if count] == [*range(ISSUED + 1, ISSUED + 2 + 8)]


@pytest.mark.parametrize("ram", Ram)
@pytest.mark.parametrize("ports", ["single", "dual"])
def test_rows_that_dma_writes_go_first_into_either_ram_and_the_next_conversion_waits(ram: Ram, ports: str) -> None:
    """A cycle has one write, over both RAMs. DMA in writes a row a cycle, from 1 on, up to the third in which the out
    would be written; the next one, issued two cycles later, would be converted in the second of these.
    """
    ready = ISSUED + 3
    dma = [
        ReadHostMemory(source="data", row=20, rows=ready - 1),
        ReadHostMemory(source="data", ram=ram, row=20, rows=3),
    ]
    keys: dict[str, Any] = {"data_ram": {"ports": ports}, "weight_ram": {"ports": ports}}
    topology, array = (
        chip(8, host={"bytes_per_cycle": 8}, **keys),
        [Step(), Out(row=Rows(9)), Step(), Out(row=Rows(10))],
    )
    program = Bare(topology, array, {}, {}, dma=dma).program()
    told = stretches(program)
    assert told.of("output") == [
        (ready - 1, 1, "busy"),
        (ready, 3, "stall:port"),
        (ready + 3, 1, "busy"),
    ]
    counts = after_each_cycle(program, lambda made: made.counts.count(Counter.OUTPUT))
    assert first_seen(counts, 1) == ready + 3 + 1 + 1
    assert told.cycles == ready + 3 + 1 + 1


def test_what_it_writes_keeps_the_array_from_a_single_port_only() -> None:
    for ports, stalls in (("single", [(ISSUED + 3, 1, "stall:port")]), ("dual", [])):
        program = copying(chip(8, data_ram={"ports": ports}), Out(row=Rows(9)), *[Step(data=Rows(0), repeat=8)])
        assert [span for span in stretches(program).of("array") if span[2] != "busy"] == stalls


def test_words_that_are_not_named_are_those_that_stand_there_when_it_writes() -> None:
    """Two outs of a word each into one row: the second keeps what the first has written meanwhile."""
    one, two = (Mask(offset=k, block=8, count=1) for k in (2, 5))
    program = copying(slow(1, 9), one, Out(row=Rows(9)), two, Out(row=Rows(9)))
    assert rows_seen(program, [9])[-1] == [[0, 0, 3, 0, 0, 6, 0, 0]]


@pytest.mark.parametrize(
    ("function", "arithmetic", "rows"),
    [
        (Function.REQUANTISE, {Action.ADD_32: 2, Action.MULTIPLY_32: 1}, 1),
        (Function.RAW, {}, 4),
    ],
)
def test_what_an_out_costs(function: Function, arithmetic: dict[Action, int], rows: int) -> None:
    mask = Mask(offset=0, block=4, count=3, blocks=2)
    program = copying(chip(8), mask, Out(row=Rows(9), function=function))
    [acted] = after_each_cycle(program, lambda made: {a: sum(n.values()) for a, n in made.output.unit.acted.items()})[
        -1:
    ]
    words = {action: 6 * count for action, count in arithmetic.items()}
    assert acted == {Action.ACCUMULATOR_READ: 4 * 8, **words, Action.BUFFER_WRITE: rows * 8}
