"""DMA out: a row is read in one cycle and on the link from the next one on, through two buffers."""

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
    Halt,
    Instruction,
    Out,
    Queue,
    ReadHostMemory,
    Rows,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.topology import Topology

LINKS = [(0, 8), (0, 3), (5, 8), (2, 1)]
ROWS = 5


def slow(latency: int, bytes_per_cycle: int, **keys: Any) -> Topology:
    return chip(8, host={"latency_cycles": latency, "bytes_per_cycle": bytes_per_cycle}, **keys)


def sending(topology: Topology, *dma: Instruction, array: Sequence[Instruction] = ()) -> Program:
    """A program whose rows 0 to 4 hold 10, 20, ... and some, and which may send them to a scratch."""
    data = {k: [10 * (k + 1) + j for j in range(8)] for k in range(ROWS)}
    bare = Bare(topology, array, data, {}, dma=dma)
    program = bare.program()
    outs = any(isinstance(op, WriteHostMemory) and op.destination == "output" for op in dma)
    return Program(**{**vars(program), "outputs": (rows_tensor(topology, ROWS),)}) if outs else program


def read_in(link: int, rows: int) -> list[int]:
    """A row is read when fewer than two of those before it have not left; each leaves after the one before."""
    reads: list[int] = []
    leaves: list[int] = []
    for k in range(rows):
        earliest = max(reads[-1] + 1 if k else 0, leaves[k - 2] if k > 1 else 0)
        reads.append(earliest)
        leaves.append(max(earliest + 1, leaves[-1] if k else 0) + link)
    return reads


@pytest.mark.parametrize(("latency", "rate"), LINKS)
def test_rows_are_read_as_buffers_are_free_and_cross_one_after_the_other(latency: int, rate: int) -> None:
    topology = slow(latency, rate)
    link, told = topology.link_cycles, stretches(sending(topology, WriteHostMemory(rows=ROWS)))
    assert link == latency + -(-8 // rate)
    assert told.busy("dma_out") == read_in(link, ROWS)
    assert told.of("host.out") == [(1, ROWS * link, "busy")]
    waits = {kind for *_, kind in told.of("dma_out")} - {"busy"}
    assert waits == ({"stall:fifo"} if link > 1 else set())
    assert told.cycles == max(PROLOGUE + 1, 1 + ROWS * link)


@pytest.mark.parametrize(("latency", "rate"), LINKS)
def test_a_row_has_come_after_its_stretch_of_the_link_and_not_before(latency: int, rate: int) -> None:
    topology = slow(latency, rate)
    program = sending(topology, WriteHostMemory(destination="scratch", rows=ROWS))
    counts = after_each_cycle(program, lambda made: made.counts.count(Counter.DMA_OUT))
    link = topology.link_cycles
    assert counts == [min(ROWS, max(0, (cycle - 1) // link)) for cycle in range(len(counts))]


def test_what_comes_is_what_the_row_was_when_it_was_read() -> None:
    """Row 0 is read in 0 and written in 1; row 1 is written in 2 and read in 3, once it is there."""
    zeros = ReadHostMemory(source="data", rows=2, row=0)
    wait = Sync(unit=Queue.DMA_OUT, until=Counter.DMA_IN, count=2)
    sends = [WriteHostMemory(), wait, *(WriteHostMemory(offset=k, row=k) for k in range(1, ROWS))]
    program = sending(slow(0, 8), *sends, Sync(unit=Queue.DMA_IN, until=Counter.DMA_OUT, count=1), zeros)
    run = simulate(program, [])
    assert run.outputs[0][0, :, 0, 0].tolist() == [10, 0, 30, 40, 50]


@pytest.mark.parametrize(("ports", "port"), [("single", [(1, 3, "stall:port")]), ("dual", [])])
def test_a_row_that_comes_takes_the_port(ports: str, port: list[tuple[int, int, str]]) -> None:
    """Rows are written in 1, 2 and 3, those to be sent wanted from 1 on: one was read in 0."""
    topology = slow(0, 8, data_ram={"ports": ports})
    come = ReadHostMemory(source="data", rows=3, row=30)
    told = stretches(sending(topology, WriteHostMemory(destination="scratch", rows=2), come))
    assert [stretch for stretch in told.of("dma_out") if stretch[2] == "stall:port"] == port
    assert told.busy("dma_out") == ([0, 4] if port else [0, 1])


def test_it_goes_before_the_output_unit_and_the_array() -> None:
    """An out issued in 0 is written in 3, a load wanted in 4: rows are sent in both cycles."""
    wait = Sync(unit=Queue.DMA_OUT, until=Counter.ARRAY, count=1)
    array = [Out(row=Rows(40)), *[Step()] * 3, Step(data=Rows(0), alu=Alu.COPY)]
    sends = [wait, WriteHostMemory(destination="scratch", rows=4)]
    told = stretches(sending(slow(0, 8), *sends, array=array))
    assert told.busy("dma_out") == [PROLOGUE + 1 + k for k in range(4)]
    assert told.of("output")[-1] == (PROLOGUE + 3, 2, "stall:port")
    assert (PROLOGUE + 4, 2, "stall:port") in told.of("array")


@pytest.mark.parametrize("begin", [0, 3, 40])
def test_a_transfer_that_is_held_begins_then(begin: int) -> None:
    program = sending(slow(0, 8), WriteHostMemory(destination="scratch", rows=2, label="y"))
    told = stretches(program, (), {"y": begin})
    assert told.busy("dma_out") == [begin, begin + 1]
    assert told.cycles == max(PROLOGUE + 1, begin + 3)


def test_rows_of_each_sample_leave() -> None:
    topology = slow(0, 8)
    tensor = rows_tensor(topology, ROWS, "x")
    wait = Sync(unit=Queue.DMA_OUT, until=Counter.DMA_IN, count=ROWS)
    ops = (ReadHostMemory(rows=ROWS, row=10), wait, WriteHostMemory(rows=ROWS, row=10), Halt())
    program = Program("echo", topology, (), ops, inputs=(tensor,), outputs=(rows_tensor(topology, ROWS),))
    x = np.arange(3 * ROWS * 8).reshape(3, ROWS, 8, 1).astype(np.int8)
    assert simulate(program, [x]).outputs[0].tolist() == x.tolist()
