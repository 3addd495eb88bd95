"""Who waits for whom, to the clock: ports, results on their way, buffers, the host; and accumulators as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.rotating.convolutions import Frame, input_rows, max_pool, output_words, x_of
from tests.rotating.models import Model, on_all_models, rows_after, stalls
from tests.rotating.programs import AS_IT_IS, PROLOGUE, Bare, chip, rows_tensor
from tests.rotating.test_oracles import Y, readable
from tilesim.rotating import stepped
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    Function,
    Instruction,
    Mask,
    Out,
    Place,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.model.program import HostTensor
from tilesim.rotating.topology import Topology

SPARE = 40
"""A row of either RAM that nobody uses."""


def meeting(ram: Ram, cycle: int, ports: str = "single") -> Bare:
    """The program to read, and a row that DMA writes into ``ram`` in ``cycle`` of it."""
    latency = PROLOGUE + cycle - 1
    shared: dict[str, Any] = {"data_ram": {"rows": 64, "ports": ports}, "weight_ram": {"rows": 512, "ports": ports}}
    topology = chip(8, host={"latency_cycles": latency, "bytes_per_cycle": 8}, **shared)
    return replace(readable(topology), dma=[ReadHostMemory(source="data", ram=ram, row=SPARE)])


@on_all_models
@pytest.mark.parametrize(
    ("ram", "cycle", "ports", "cycles", "port"),
    [
        (Ram.WEIGHT, 4, "single", 38, 1),
        (Ram.WEIGHT, 4, "dual", 37, 0),
        (Ram.WEIGHT, 2, "single", 37, 0),  # units only rotate
        (Ram.DATA, 8, "single", 38, 1),
        (Ram.DATA, 8, "dual", 37, 0),
        (Ram.DATA, 9, "single", 37, 0),
        (Ram.DATA, 19, "single", 37, 0),  # the first out writes
        (Ram.DATA, 36, "single", 38, 0),  # the last one does
        (Ram.DATA, 36, "dual", 38, 0),
        (Ram.WEIGHT, 36, "single", 38, 0),  # a cycle has one write, over both RAMs
    ],
)
def test_a_row_that_dma_writes(model: Model, ram: Ram, cycle: int, ports: str, cycles: int, port: int) -> None:
    result = model(meeting(ram, cycle, ports).program())
    assert (result.clocks, result.stalls) == ((34, cycles), {"port": port} if port else {})
    waits = stalls(result.units["nnu.output"])
    assert waits == ({"port": 1} if cycle in {19, 36} else {})


@on_all_models
def test_two_rows_that_dma_writes(model: Model) -> None:
    """Into the weight RAM in cycles 4 and 5: rows that nobody needs make time pass, before and up to then.

    The last of ``before`` is counted in ``PROLOGUE - 2``, in which DMA out reads a row; it is across in the cycle
    after, so that DMA in goes on in ``PROLOGUE`` and writes a row in each cycle from the next one on.
    """
    before = PROLOGUE - 3
    dma: list[Instruction] = [
        ReadHostMemory(source="data", row=SPARE, rows=before),
        Sync(unit=Queue.DMA_IN, until=Counter.DMA_OUT, count=1),
        ReadHostMemory(source="data", row=SPARE, rows=3),
        ReadHostMemory(source="data", ram=Ram.WEIGHT, row=SPARE, rows=2),
        Sync(unit=Queue.DMA_OUT, until=Counter.DMA_IN, count=before),
        WriteHostMemory(destination="scratch", row=SPARE),
    ]
    result = model(replace(readable(chip(8)), dma=dma).program())
    assert (result.clocks, result.stalls) == ((34, 39), {"port": 2})


@on_all_models
@pytest.mark.parametrize("latency", range(1, 20))
def test_an_out_that_meets_a_load(model: Model, latency: int) -> None:
    result = model(readable(chip(8, output={"latency_cycles": latency})).program())
    meets = latency == 7
    assert (result.clocks, result.stalls) == ((34, 36 + latency + meets), {"port": 1} if meets else {})


PLUS_ONE = (1, *AS_IT_IS[1:])


def copies(topology: Topology, outs: Sequence[tuple[int, int]]) -> Bare:
    """Rows that are copied, from and to."""
    ops: list[Instruction] = []
    for source, target in outs:
        ops += [Step(data=Rows(source), alu=Alu.COPY), Out(row=Rows(target))]
    return Bare(topology, ops, {0: [*range(topology.units.count)]}, {}, scaling=PLUS_ONE)


@on_all_models
@pytest.mark.parametrize(
    ("words", "latency", "cycles", "waits"), [(8, 1, 10, 3), (0, 1, 10, 3), (8, 3, 14, 5), (2, 1, 16, 6)]
)
def test_a_load_waits_for_the_write_of_an_out(model: Model, words: int, latency: int, cycles: int, waits: int) -> None:
    bare = copies(chip(8, output={"words_per_cycle": words, "latency_cycles": latency}), [(0, 1), (1, 2)])
    result = model(bare.program())
    assert (result.clocks, result.stalls) == ((4, cycles), {"raw": waits})
    assert rows_after(model, bare, [1, 2]) == [[*range(1, 9)], [*range(2, 10)]]


@on_all_models
def test_outs_wait_for_buffers(model: Model) -> None:
    ops = [Step(data=Rows(0), alu=Alu.COPY), *(Out(row=Rows(k)) for k in range(1, 6))]
    bare = Bare(chip(8, output={"words_per_cycle": 2}), ops, {0: [*range(8)]}, {}, scaling=PLUS_ONE)
    result = model(bare.program())
    assert (result.clocks, result.stalls) == ((6, 24), {"fifo": 10})
    assert rows_after(model, bare, [1, 5]) == [[*range(1, 9)]] * 2


@on_all_models
def test_a_max_pool(model: Model) -> None:
    frame = Frame(chip(16), 8, [[0, 1]], [[0, 1]], 1, stride=2)
    x = x_of(4, 6, 2)

    def out(_j: int, q: int) -> Out:
        return Out(row=Rows(4 + q), place=Place(2, 0), outside="fill", fill=-128, clear="least")

    ops = max_pool(frame, (2, 2), 4, 2, out)
    mask = Mask(offset=frame.out_offset(2), block=8, stride=2, count=3, blocks=2)
    bare = Bare(frame.topology, ops, input_rows(frame, x, -128), {}, mask)
    result = model(bare.program())
    assert (result.clocks, result.stalls) == ((10, 14), {"port": 1})
    rows = rows_after(model, bare, [4, 5])
    assert rows[0] == [-128, 5, 4, 4, *[-128] * 5, 3, 6, 6, *[-128] * 4]
    small = replace(frame, stride=1)
    maps = [output_words(small, row, 3, 2) for row in rows]
    assert maps == [{0: [5, 4, 4], 1: [3, 6, 6]}, {0: [6, 5, 5], 1: [4, 4, 3]}]


def from_host(counts: Sequence[int]) -> tuple[Bare, list[np.ndarray[Any, Any]]]:
    """The program to read with rows that come from the host and go back to it; each load of the first output row waits
    for as many as ``counts`` say.

    Rows that nobody needs cross before, as long as the prologue takes.
    """
    bare, before = readable(chip(8, host={"bytes_per_cycle": 4})), PROLOGUE // 2
    ops: list[Instruction] = []
    waits = list(counts)
    for op in bare.array:
        if isinstance(op, Step) and op.data and waits:
            ops.append(Sync(unit=Queue.ARRAY, until=Counter.DMA_IN, count=before + waits.pop(0)))
        ops.append(op)
    dma: list[Instruction] = [
        ReadHostMemory(source="data", row=SPARE, rows=before),
        ReadHostMemory(row=0, rows=3),
        *(
            op
            for k in range(2)
            for op in (
                Sync(unit=Queue.DMA_OUT, until=Counter.OUTPUT, count=k + 1),
                WriteHostMemory(destination="scratch", tensor=0, offset=k, row=3 + k),
            )
        ),
    ]
    tensor: HostTensor = rows_tensor(bare.topology, 3, "x")
    x = np.array([bare.data[k] for k in range(3)], np.int8).reshape(1, 3, 8, 1)
    data = {k: row for k, row in bare.data.items() if k > 2}
    return replace(bare, array=ops, dma=dma, data=data, inputs=(tensor,)), [x]


ALL, EACH = (3,), (1, 2, 2, 3)


@on_all_models
@pytest.mark.parametrize(("counts", "waits", "run"), [(ALL, 7, 47), (EACH, 3, 43)])
def test_rows_from_the_host_and_to_it(model: Model, counts: Sequence[int], waits: int, run: int) -> None:
    bare, x = from_host(counts)
    result = model(bare.program(), x)
    assert (result.clocks, result.stalls) == ((34, run), {"input": waits})
    sent = model(bare.program([3, 4]), x)
    assert np.asarray(sent.outputs[0])[0, :, :, 0].tolist() == Y
    assert result.units["nnu.host.in"]["busy"] == PROLOGUE + 6
    assert result.units["nnu.host.out"]["busy"] == 4
    assert result.units["nnu.dma_in"]["busy"] == PROLOGUE // 2 + 3
    assert stalls(result.units["nnu.dma_out"]) == {"work": result.cycles - 2 - 2}


@pytest.mark.parametrize(("counts", "writes", "reads"), [(ALL, [26, 43], [27, 44]), (EACH, [22, 39], [23, 40])])
def test_when_rows_go_to_the_host(counts: Sequence[int], writes: list[int], reads: list[int]) -> None:
    bare, x = from_host(counts)
    outcome = stepped.simulate(bare.program(), x, trace=True)
    start = outcome.load_cycles + PROLOGUE
    assert [cycle - PROLOGUE for cycle, _ in outcome.writes] == writes
    busy = [span for span in outcome.spans if span[3] == "busy" and span[1] >= outcome.load_cycles]
    assert [span[1] - start for span in busy if span[0] == "nnu.dma_out"] == reads
    links = [(span[1] - start, span[2]) for span in busy if span[0] == "nnu.host.out"]
    assert links == [(read + 1, 2) for read in reads]


SUMS = [-1, 0, 1, 2147483647, -2147483648, 123456789, -123456789, 255]
PLANES = [
    [-1, 0, 1, -1, 0, 21, -21, -1],
    [-1, 0, 0, -1, 0, -51, 50, 0],
    [-1, 0, 0, -1, 0, 91, -92, 0],
    [-1, 0, 0, 127, -128, 7, -8, 0],
]


def planes(word_bits: int) -> Bare:
    """Accumulators from four rows, and into four others."""
    wide = [[word % 256 for word in row] for row in PLANES[:3]]
    rows = PLANES if word_bits == 8 else [*wide, PLANES[3]]
    ops = [Step(data=Rows(k), alu=Alu.PLANE, plane=k) for k in range(4)]
    topology = chip(8, units={"word_bits": word_bits})
    return Bare(topology, [*ops, Out(row=Rows(4), function=Function.RAW)], dict(enumerate(rows)), {})


@on_all_models
@pytest.mark.parametrize("word_bits", [8, 16])
def test_accumulators_as_bytes_and_back(model: Model, word_bits: int) -> None:
    bare = planes(word_bits)
    assert model(bare.program()).clocks == (5, 5 + 4 + 2)
    assert rows_after(model, bare, range(4, 8)) == [bare.data[k] for k in range(4)]


@pytest.mark.parametrize("word_bits", [8, 16])
def test_accumulators_that_were_bytes(word_bits: int) -> None:
    registers = stepped.simulate(planes(word_bits).program(), (), observes=True).registers
    assert registers[-1][1].tolist() == SUMS
