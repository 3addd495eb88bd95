"""DMA in: a row in each stretch of the link, written in the cycle after it, whoever else wants the port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.rotating.programs import PROLOGUE, Bare, chip, rows_tensor
from tests.rotating.watched import after_each_cycle, stretches
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    Instruction,
    Out,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.topology import Topology

FIRST = 20
"""Where rows of the host go."""
LINKS = [(0, 8), (0, 3), (5, 8), (2, 1)]


def slow(latency: int, bytes_per_cycle: int) -> Topology:
    return chip(8, host={"latency_cycles": latency, "bytes_per_cycle": bytes_per_cycle})


def link_cycles(latency: int, bytes_per_cycle: int) -> int:
    return latency + -(-8 // bytes_per_cycle)


def bringing(topology: Topology, *dma: Instruction, array: Sequence[Instruction] = (), rows: int = 6) -> Program:
    """A program with an input of so many rows."""
    return Bare(topology, array, {0: [*range(8)]}, {}, dma=dma, inputs=(rows_tensor(topology, rows, "x"),)).program()


def x_of(rows: int = 6, samples: int = 1) -> list[np.ndarray[Any, Any]]:
    return [(1 + np.arange(samples * rows * 8) % 100).reshape(samples, rows, 8, 1).astype(np.int8)]


@pytest.mark.parametrize(("latency", "rate"), LINKS)
def test_a_row_is_there_after_its_stretch_of_the_link_and_a_cycle_and_not_before(latency: int, rate: int) -> None:
    program = bringing(slow(latency, rate), ReadHostMemory(rows=3, row=FIRST))
    seen = after_each_cycle(program, lambda made: made.data_ram.rows[0, FIRST : FIRST + 3, 0].tolist(), x_of())
    taken = link_cycles(latency, rate)
    for k in range(3):
        written = (k + 1) * taken
        assert [row[k] for row in seen[: written + 1]] == [0] * written + [1 + 8 * k]


@pytest.mark.parametrize(("latency", "rate"), LINKS)
def test_rows_are_counted_a_cycle_after_their_write(latency: int, rate: int) -> None:
    program = bringing(slow(latency, rate), ReadHostMemory(rows=3, row=FIRST))
    counts = after_each_cycle(program, lambda made: made.counts.count(Counter.DMA_IN), x_of())
    taken = link_cycles(latency, rate)
    expected = [min(3, max(0, (cycle - 1) // taken)) for cycle in range(len(counts))]
    assert counts == expected


@pytest.mark.parametrize(("latency", "rate"), LINKS)
def test_the_link_goes_on_with_the_next_row_also_of_the_next_instruction(latency: int, rate: int) -> None:
    ops = [ReadHostMemory(rows=2, row=FIRST), ReadHostMemory(offset=2, rows=4, row=FIRST + 2)]
    told, taken = stretches(bringing(slow(latency, rate), *ops), x_of()), link_cycles(latency, rate)
    assert told.of("host.in") == [(0, 6 * taken, "busy")]
    assert told.busy("dma_in") == [taken * k for k in range(1, 7)]
    assert {kind for *_, kind in told.of("dma_in")} == ({"busy", "stall:host"})


def test_either_ram_takes_rows_of_each_sample() -> None:
    ops = [ReadHostMemory(row=FIRST), ReadHostMemory(offset=1, ram=Ram.WEIGHT, row=FIRST)]
    inputs = x_of(samples=3)
    program = bringing(slow(0, 8), *ops)
    rams = after_each_cycle(
        program, lambda made: [ram.rows[:, FIRST].tolist() for ram in (made.data_ram, made.weight_ram)], inputs
    )
    assert rams[-1] == [inputs[0][:, k, :, 0].tolist() for k in range(2)]


def test_a_sync_is_looked_at_when_the_link_is_free() -> None:
    """The rows before it need not be counted yet; the row that it waits for is, a cycle after its last on the link."""
    sync = Sync(unit=Queue.DMA_IN, until=Counter.DMA_OUT, count=1)
    ops = [ReadHostMemory(rows=2, row=FIRST), sync, ReadHostMemory(offset=2, row=FIRST + 2)]
    sending = WriteHostMemory(destination="scratch", row=0)
    told = stretches(bringing(slow(0, 2), *ops, sending), x_of())
    # The row that leaves is read in 0 and on the link from 1 to 4, counted in 5: nobody waits for it.
    assert told.of("host.in") == [(0, 12, "busy")]
    late = Sync(unit=Queue.DMA_OUT, until=Counter.DMA_IN, count=2)
    told = stretches(bringing(slow(0, 2), *ops, late, sending), x_of())
    # Rows are counted in 5 and 9; the one that leaves is read in 9, on the link up to 13, counted in 14.
    assert told.of("host.in") == [(0, 8, "busy"), (14, 4, "busy")]
    assert told.of("dma_in")[-3:] == [(9, 5, "stall:work"), (14, 4, "stall:host"), (18, 1, "busy")]


@pytest.mark.parametrize("begin", [0, 1, 7, 30])
def test_a_transfer_that_is_held_begins_then(begin: int) -> None:
    op = ReadHostMemory(rows=2, row=FIRST, label="x")
    program = bringing(slow(0, 2), op)
    told = stretches(program, x_of(), {"x": begin})
    assert told.of("host.in") == [(begin, 8, "busy")]
    assert told.by_track["nnu.dma_in"][0][:3] == ((0, begin, "stall:hold") if begin else (0, 4, "stall:host"))


@pytest.mark.parametrize("ports", ["single", "dual"])
def test_nobody_keeps_it_from_the_port(ports: str) -> None:
    """The array reads the data RAM in each cycle, the output unit writes it; rows come as they would alone."""
    topology = chip(8, host={"bytes_per_cycle": 8}, data_ram={"ports": ports})
    array = [op for k in range(9) for op in (Step(data=Rows(0), alu=Alu.COPY), Out(row=Rows(30 + k)))]
    reads = ReadHostMemory(rows=29, source="data", row=1)
    program = bringing(topology, reads, array=array)
    told = stretches(program, x_of())
    assert told.busy("dma_in") == [*range(1, 30)]
    waits = sum(cycles for _, cycles, kind in told.of("array") if kind == "stall:port")
    assert (waits > 0) == (ports == "single")
    assert told.cycles >= PROLOGUE + 18
