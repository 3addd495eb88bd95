"""What each unit takes when nobody is in its way, and what becomes of it when somebody is: by formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.rotating.models import Model, on_all_models, rows_after, stalls
from tests.rotating.programs import PROLOGUE, Bare, chip, rows_tensor
from tilesim.arithmetic.add import add, add_scaling_fixed
from tilesim.arithmetic.multiply import multiply
from tilesim.errors import AccessError, ArrayError
from tilesim.machines.verify import hung
from tilesim.rotating import stepped
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    End,
    Function,
    Halt,
    Instruction,
    Loop,
    Mask,
    Out,
    Parameters,
    Place,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Set,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.topology import Topology

ROW = [*range(8)]
COPY = Step(data=Rows(0), alu=Alu.COPY)


def copying(topology: Topology, *ops: Instruction, weights: Sequence[Any] = (), **fields: Any) -> Bare:
    row = [*range(topology.units.count)]
    return Bare(topology, ops, dict.fromkeys(range(4), row), dict(enumerate(weights)), **fields)


@on_all_models
@pytest.mark.parametrize("words", [0, 1, 3, 8])
@pytest.mark.parametrize("latency", [1, 2, 9])
def test_an_out_takes_its_conversion_its_latency_and_a_cycle(model: Model, words: int, latency: int) -> None:
    topology = chip(8, output={"words_per_cycle": words, "latency_cycles": latency})
    result = model(copying(topology, COPY, Out(row=Rows(9))).program())
    converting = -(-8 // (words or 8))
    assert result.clocks == (2, 2 + converting + latency + 1)
    assert result.units["nnu.output"] == {"busy": converting, "idle": result.cycles - converting}


@on_all_models
@pytest.mark.parametrize("words", [1, 4, 8])
@pytest.mark.parametrize("latency", [1, 5])
def test_a_raw_out_converts_and_writes_four_rows(model: Model, words: int, latency: int) -> None:
    topology = chip(8, output={"words_per_cycle": words, "latency_cycles": latency})
    bare = copying(topology, COPY, Out(row=Rows(9), function=Function.RAW))
    result = model(bare.program())
    assert result.clocks == (2, 2 + 4 * (8 // words) + latency + 1)
    assert result.units["nnu.output"]["busy"] == 4 * (8 // words)
    assert rows_after(model, bare, range(9, 13)) == [ROW, [0] * 8, [0] * 8, [0] * 8]


@on_all_models
@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("ports", ["single", "dual"])
def test_each_row_of_a_raw_out_can_be_loaded_once_it_is_written(model: Model, k: int, ports: str) -> None:
    topology = chip(8, data_ram={"rows": 64, "ports": ports})
    result = model(copying(topology, COPY, Out(row=Rows(9), function=Function.RAW), Step(data=Rows(9 + k))).program())
    later = {"port": 3 - k} if ports == "single" and k < 3 else {}  # those behind it take the only port
    assert result.stalls == {"raw": 3 + k, **later}


@on_all_models
@pytest.mark.parametrize("buffers", [1, 2, 3, 7])
def test_as_many_outs_as_there_are_buffers_go_ahead(model: Model, buffers: int) -> None:
    topology = chip(8, output={"words_per_cycle": 2, "buffers": buffers})
    outs = [Out(row=Rows(9 + k)) for k in range(6)]
    result = model(copying(topology, COPY, *outs).program())
    assert result.cycles - PROLOGUE == 1 + 2 + 6 * 4 + 1 if buffers > 1 else 1 + 6 * (2 + 4) + 1
    issued = [0]
    for k in range(1, 6):  # the out whose conversion must be over has begun 4 cycles after the one before it
        free = 0 if k < buffers else _conversions(issued)[k - buffers] + 4
        issued.append(max(issued[-1] + 1, free))
    assert stalls(result.units["nnu.array"]) == ({"fifo": issued[-1] - 5} if issued[-1] > 5 else {})


def _conversions(issued: Sequence[int]) -> list[int]:
    """When the conversions begin of outs that are ``issued`` so, of 4 cycles each."""
    begun: list[int] = []
    for cycle in issued:
        begun.append(max(cycle + 2, begun[-1] + 4 if begun else 0))
    return begun


@on_all_models
@pytest.mark.parametrize(("word_bits", "rows"), [(8, 9), (16, 5)])
def test_parameters_come_a_row_a_cycle(model: Model, word_bits: int, rows: int) -> None:
    topology = chip(8, units={"word_bits": word_bits})
    parameters = Parameters(row=Rows(topology.weight_ram.rows - 12), set=1)
    result = model(copying(topology, COPY, parameters, Out(row=Rows(9), set=1)).program())
    assert result.stalls == {"weights": rows}
    assert result.clocks == (3, 3 + rows + 3)
    assert result.units["nnu.parameters"] == {"busy": 2 * rows, "idle": result.cycles - 2 * rows}


@on_all_models
@pytest.mark.parametrize("ports", ["single", "dual"])
def test_parameters_wait_for_whoever_reads_weights(model: Model, ports: str) -> None:
    topology = chip(8, weight_ram={"rows": 512, "ports": ports})
    parameters = Parameters(row=Rows(500), set=1)
    reading = Step(weights=Rows(0), repeat=20)
    weights = {"weights": [ROW]}
    result = model(copying(topology, parameters, reading, COPY, Out(row=Rows(9), set=1), **weights).program())
    assert result.units["nnu.parameters"]["busy"] == 18
    assert stalls(result.units["nnu.parameters"]) == {"port": 20}
    assert result.stalls == {"weights": 8}  # one row comes in the cycle of the copy


@on_all_models
@pytest.mark.parametrize(("ports", "waits"), [("single", 6), ("dual", 0)])
def test_parameters_and_rows_that_come(model: Model, ports: str, waits: int) -> None:
    topology = chip(8, weight_ram={"rows": 512, "ports": ports}, host={"latency_cycles": 0})
    bare = copying(topology, COPY, dma=[ReadHostMemory(source="data", rows=6, ram=Ram.WEIGHT, row=20)])
    units = model(bare.program()).units
    assert stalls(units["nnu.parameters"]) == ({"port": waits} if waits else {})
    assert units["nnu.dma_in"] == {"busy": 6, "idle": units["nnu.dma_in"]["idle"], "stall:host": 1}


@on_all_models
def test_a_table_is_fetched_and_looked_up(model: Model) -> None:
    table = np.arange(256) ^ 0x5A
    weights = [row.tolist() for row in table.reshape(-1, 8).astype(np.int8)]
    ops = [
        Parameters(row=Rows(0), table=True),
        COPY,
        Step(weights=Rows(40)),
        Out(row=Rows(9), function=Function.LOOKUP),
    ]
    bare = Bare(chip(8), ops, {0: [0, 1, 2, 127, -128, -2, -1, 5]}, {**dict(enumerate(weights)), 40: ROW})
    result = model(bare.program())
    assert result.stalls == {"weights": 32 - 2 + 1}
    assert stalls(result.units["nnu.parameters"]) == {"port": 1}
    wanted = table[np.array([0, 1, 2, 127, 128, 254, 255, 5])].astype(np.int8)
    assert rows_after(model, bare, [9]) == [wanted.tolist()]


@on_all_models
@pytest.mark.parametrize("half", [0, 1])
def test_half_a_row_of_weights_is_for_either_half(model: Model, half: int) -> None:
    topology = chip(8, weight_ram={"shape": "half_rows"})
    ops = [Step(data=Rows(0), weights=Rows(2 + half), alu=Alu.MULTIPLY_ADD), Out(row=Rows(9))]
    bare = Bare(topology, ops, {0: [1] * 8}, {1: ROW})
    assert rows_after(model, bare, [9]) == [ROW[4 * half : 4 * half + 4] * 2]
    assert model(bare.program()).clocks == (2, 5)


@on_all_models
@pytest.mark.parametrize(("outside", "rest"), [("keep", ROW), ("fill", [-7] * 8)])
def test_a_mask_names_words(model: Model, outside: Any, rest: list[int]) -> None:
    mask = Mask(offset=7, block=4, stride=2, count=2, blocks=2)
    ops = [COPY, Step(rotate=1, alu=Alu.COPY), Out(row=Rows(3), outside=outside, fill=rest[0])]
    rotated = [7, *range(7)]
    wanted = [rotated[k] if k in {7, 1, 3, 5} else rest[k] for k in range(8)]
    assert rows_after(model, copying(chip(8), *ops, mask=mask), [3]) == [wanted]


@on_all_models
def test_words_move_within_their_block(model: Model) -> None:
    mask = Mask(offset=1, block=4, stride=2, count=2, blocks=2)
    out = Out(row=Rows(9), place=Place(2, 1), outside="fill")
    assert rows_after(model, copying(chip(8), COPY, out, mask=mask), [9]) == [[7, 0, 0, 1, 3, 0, 0, 5]]


ADDING = add_scaling_fixed((0.5, 0.25, 0.75), (1, -2, 3))


@on_all_models
@pytest.mark.parametrize("word_bits", [8, 16])
@pytest.mark.parametrize(("combine", "scaling"), [("add", ADDING), ("multiply", (1, -1, 2, 1 << 30, -1))])
def test_accumulators_and_mux_registers_are_combined(
    model: Model, word_bits: int, combine: Any, scaling: tuple[int, ...]
) -> None:
    topology = chip(8, units={"word_bits": word_bits})
    a, b = [3, -4, 100, -128, 127, 0, 9, 1], [5, 6, 100, -128, -127, 0, -9, 2]
    control = Set(rule="double", combine=combine, scaling=scaling, clamp=(-100, 90))
    ops = [control, COPY, Out(row=Rows(9), data=Rows(1), function=Function.COMBINE)]
    bare = Bare(topology, ops, {0: a, 1: b}, {})
    dtype = np.int8 if word_bits == 8 else np.int16
    wanted = {"add": add, "multiply": multiply}[combine]("double", np.array(a, dtype), np.array(b, dtype), scaling)
    assert rows_after(model, bare, [9]) == [wanted.clip(-100, 90).tolist()]
    assert model(bare.program()).clocks == (3, 6)


@on_all_models
def test_zero_points_and_signs_are_as_set_before_each_step(model: Model) -> None:
    unsigned = Set(data="unsigned", weights="unsigned", data_zero=100, weight_zero=3)
    signed = Set(data_zero=-9, weight_zero=-1)
    ops = [
        *(unsigned, Step(data=Rows(0), weights=Rows(0), alu=Alu.MULTIPLY_ADD)),
        *(signed, Step(alu=Alu.MULTIPLY_ADD), Step(alu=Alu.ADD), Out(row=Rows(9), function=Function.RAW)),
    ]
    bare = Bare(chip(8), ops, {0: [-1, 0, 100, -100, 127, -128, 1, 2]}, {0: [-1, 1, 2, 3, -4, 5, 6, 7]})
    low, middle, *_ = np.array(rows_after(model, bare, range(9, 13))) % 256
    x, w = np.array(bare.data[0]), np.array(bare.weights[0])
    sums = (x % 256 - 100) * (w % 256 - 3) + (x + 9) * (w + 1) + x + 9
    assert (low + 256 * middle == sums % 65536).all()


@on_all_models
def test_the_least_number_is_below_all(model: Model) -> None:
    ops = [COPY, Out(row=Rows(9), clear="least"), Step(data=Rows(1), alu=Alu.MAX), Out(row=Rows(10), clear="zero")]
    bare = Bare(chip(8), [*ops, Out(row=Rows(11))], {0: ROW, 1: [-5] * 8}, {})
    assert rows_after(model, bare, [9, 10, 11]) == [ROW, [-5] * 8, [0] * 8]


@on_all_models
def test_addresses_move_with_the_loops_around_and_the_repetition(model: Model) -> None:
    taking = Step(data=Rows(0, (2, 1), 4), alu=Alu.ADD, repeat=2)
    ops = [Loop(count=2), Loop(count=2), taking, End(), Out(row=Rows(20, (3,)), clear="zero"), End()]
    bare = Bare(chip(8), ops, {k: [1 << k] * 8 for k in range(8)}, {}, control=Set(rule="single", clamp=(-500, 500)))
    wide = replace(bare, topology=chip(8, units={"word_bits": 16}))
    assert rows_after(model, wide, [20, 23]) == [[0b00110011] * 8, [0b11001100] * 8]
    assert model(wide.program()).issue_clocks == 10


@on_all_models
@pytest.mark.parametrize("link", [1, 2, 5])
def test_rows_leave_through_two_buffers(model: Model, link: int) -> None:
    topology = chip(8, host={"bytes_per_cycle": 8, "latency_cycles": link - 1})
    bare = copying(topology, *[Step()] * 40, dma=[WriteHostMemory(destination="scratch", rows=4)])
    result = model(bare.program())
    waits = 2 * (link - 1)  # rows are read in 0, 1, 1 + link, 1 + 2 * link
    assert stalls(result.units["nnu.dma_out"]) == ({"fifo": waits} if waits else {})
    assert result.units["nnu.host.out"]["busy"] == 4 * link


@on_all_models
def test_the_array_waits_for_a_row_that_leaves(model: Model) -> None:
    topology = chip(8)
    dma = [
        Sync(unit=Queue.DMA_OUT, until=Counter.DMA_IN, count=PROLOGUE - 1),
        WriteHostMemory(destination="scratch", row=1),
        ReadHostMemory(source="data", row=30, rows=PROLOGUE - 1),
    ]
    result = model(copying(topology, COPY, dma=dma).program())
    assert (result.clocks, result.stalls) == ((1, 1 + 1 + 1), {"port": 1})


@on_all_models
@pytest.mark.parametrize(
    ("move", "until", "reason"),
    [
        (ReadHostMemory(source="data", row=30, rows=4), Counter.DMA_IN, "input"),
        (WriteHostMemory(destination="scratch", row=0, rows=4), Counter.DMA_OUT, "raw"),
    ],
)
def test_the_array_waits_at_a_sync(model: Model, move: Instruction, until: Counter, reason: str) -> None:
    topology = chip(8, host={"bytes_per_cycle": 8, "latency_cycles": 4})
    result = model(copying(topology, Sync(unit=Queue.ARRAY, until=until, count=4), COPY, dma=[move]).program())
    assert result.stalls == {reason: 21 - PROLOGUE}  # four times five cycles and one, in or out
    assert result.cycles == 23


@on_all_models
def test_the_host_keeps_what_it_was_given(model: Model) -> None:
    dma = [
        WriteHostMemory(destination="scratch", tensor=2, offset=1, row=1),
        Sync(unit=Queue.DMA_IN, until=Counter.DMA_OUT, count=1),
        ReadHostMemory(source="scratch", tensor=2, offset=1, row=30),
    ]
    bare = copying(chip(8), Sync(unit=Queue.ARRAY, until=Counter.DMA_IN, count=1), dma=dma)
    last = [Step(data=Rows(30), alu=Alu.COPY), Out(row=Rows(9))]
    program = replace(bare, array=[*bare.array, *last])
    units = model(program.program()).units
    assert units["nnu.dma_out"]["busy"] == units["nnu.dma_in"]["busy"] == 1
    assert stalls(units["nnu.dma_in"]) == {"work": 2, "host": 1}


def test_a_section_of_nothing_takes_a_cycle() -> None:
    program = replace(copying(chip(8)).program(), run=(Halt(),))
    assert stepped.step(program, (), trace=False).cycles == 1


@pytest.mark.parametrize(
    ("run", "section"),
    [
        ((Step(),), "run"),
        ((Halt(), Sync(unit=Queue.DMA_IN, until=Counter.ARRAY, count=1)), "run"),
        ((Sync(unit=Queue.ARRAY, until=Counter.OUTPUT, count=1), Halt()), "run"),
        ((), "run"),
    ],
)
def test_what_can_never_go_on(run: tuple[Instruction, ...], section: str) -> None:
    program = replace(copying(chip(8)).program(), run=run)
    assert stepped.simulate(program, ()).hung == section
    assert stepped.step(program, (), trace=False).end == hung(section)
    assert stepped.simulate(replace(program, load=run or (Step(),)), ()).hung == "load"


def test_spans_and_accounts_say_the_same() -> None:
    outcome = stepped.simulate(copying(chip(8), COPY, Out(row=Rows(9))).program(), (), trace=True)
    for track, account in outcome.units.items():
        assert sum(account.values()) == outcome.cycles
        for kind in account.keys() - {"idle"}:
            spans = [span for span in outcome.spans if (span[0], span[3]) == (track, kind)]
            assert sum(span[2] for span in spans if span[1] >= outcome.load_cycles) == account[kind]


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ([Step(data=Rows(64))], "data_ram must be accessed at a row from 0 to 63, not 64"),
        ([Out(row=Rows(9), set=1)], "must have parameters fetched before it, not lack set 1"),
        ([Out(row=Rows(9), function=Function.LOOKUP)], "not lack a table"),
    ],
)
def test_what_no_hardware_could_do_is_refused(ops: list[Instruction], message: str) -> None:
    with pytest.raises(AccessError, match=message):
        stepped.simulate(copying(chip(8), *ops).program(), ())


def test_a_run_is_of_one_sample() -> None:
    program = replace(copying(chip(8)).program(), inputs=(rows_tensor(chip(8), 1, "x"),))
    with pytest.raises(ArrayError, match="one sample, not 2"):
        stepped.simulate(program, [np.zeros((2, 1, 8, 1), np.int8)])
