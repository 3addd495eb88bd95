"""A run that can't go on says who waits for what, and is kept up to where it stood."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from tests.rotating.programs import PROLOGUE, Bare, chip, rows_tensor
from tilesim.errors import AccessError, HangError, ProgramError
from tilesim.machines.options import RunOptions
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
from tilesim.rotating.run import simulate as module
from tilesim.rotating.run.simulate import simulate
from tilesim.sim.trace.recorder import Recording

COPY = Step(data=Rows(0), alu=Alu.COPY)


@pytest.fixture(name="unchecked")
def _unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what the checks would refuse."""
    monkeypatch.setattr(module, "faults", lambda _program: [])


def sync(unit: Queue, until: Counter, count: int) -> Sync:
    return Sync(unit=unit, until=until, count=count, label=f"wait {unit}")


def bare(*array: Instruction, dma: tuple[Instruction, ...] = ()) -> Program:
    return Bare(chip(8), array, {0: [*range(8)]}, {}, dma=dma).program()


def hang(program: Program, options: RunOptions | None = None) -> HangError:
    with pytest.raises(HangError) as caught:
        simulate(program, [], options or RunOptions())
    assert caught.value.exit_status == 3
    return caught.value


def test_a_program_without_a_halt_is_sound_and_hangs() -> None:
    program = replace(bare(COPY), run=(Step(repeat=5),))
    assert str(hang(program)) == "the run program hangs after 6 cycles:\nthe program has no halt"
    assert hang(replace(program, load=(Step(),))).section == "load"


def test_a_halt_of_another_queue_is_none() -> None:
    """A halt ends the array alone; the others go on to the end of theirs."""
    assert "has no halt" in str(hang(replace(bare(), run=(Step(), WriteHostMemory(destination="scratch")))))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("unit", "until", "words"),
    [
        (Queue.ARRAY, Counter.DMA_IN, "3 rows from DMA in; there are 2"),
        (Queue.ARRAY, Counter.OUTPUT, "3 rows from the output unit; there are 1"),
        (Queue.DMA_IN, Counter.DMA_OUT, "3 rows over the link of DMA out; there are 0"),
        (Queue.DMA_OUT, Counter.ARRAY, "3 outs of the array; there are 1"),
    ],
)
def test_a_sync_that_never_comes(unit: Queue, until: Counter, words: str) -> None:
    come = ReadHostMemory(source="data", row=30, rows=2)
    wait = sync(unit, until, 3)
    array = [COPY, Out(row=Rows(9)), *([wait] if unit is Queue.ARRAY else [])]
    dma = (come, *([wait] if unit is not Queue.ARRAY else []))
    [_, line] = str(hang(bare(*array, dma=dma))).splitlines()
    since = {Queue.ARRAY: PROLOGUE + 2, Queue.DMA_IN: 2, Queue.DMA_OUT: 0}[unit]
    assert line == f"nnu.{unit} in wait {unit} has waited since cycle {since} for {words}"


@pytest.mark.usefixtures("unchecked")
def test_units_that_wait_for_each_other_are_all_named() -> None:
    waits = [
        sync(Queue.ARRAY, Counter.DMA_IN, 1),
        sync(Queue.DMA_IN, Counter.DMA_OUT, 1),
        sync(Queue.DMA_OUT, Counter.ARRAY, 1),
    ]
    lines = str(hang(bare(waits[0], Out(row=Rows(9)), dma=tuple(waits[1:])))).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["nnu.array", "nnu.dma_in", "nnu.dma_out"]


def test_what_never_comes_is_refused_before_the_run() -> None:
    with pytest.raises(ProgramError, match="waits for DMA in to write 1 row; it can write 0"):
        simulate(bare(sync(Queue.ARRAY, Counter.DMA_IN, 1)), [])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("rows", [0, 2])
def test_rows_of_an_output_that_have_not_come(rows: int) -> None:
    sends = (WriteHostMemory(rows=rows),) if rows else ()
    program = replace(bare(COPY, dma=sends), outputs=(rows_tensor(chip(8), 3, "y"),))
    assert str(hang(program)).splitlines() == [
        f"the run program ends after {PROLOGUE + 2} cycles, but:",
        f"the host has received {rows} of the 3 rows of output y",
    ]


@pytest.mark.usefixtures("unchecked")
def test_the_run_is_kept_up_to_where_it_stood() -> None:
    program = bare(COPY, Step(repeat=5), sync(Queue.ARRAY, Counter.DMA_IN, 1), COPY)
    error = hang(program, RunOptions(recording=Recording(), signals=range(100)))
    run = error.run
    assert run is error.run
    # The array waits from cycle PROLOGUE + 6 on, and nothing happens any more.
    assert (run.cycles, run.outputs) == (PROLOGUE + 7, [])
    found = run.statistics
    assert {key: found["end"][key] for key in ("kind", "section", "cycle")} == {
        "kind": "hang", "section": "run", "cycle": PROLOGUE + 6,
    }  # fmt: skip
    assert found["end"]["report"] == str(error).splitlines()
    for unit in (*found["units"], *found["links"]):
        assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == run.cycles
    assert sum(found["breakdown"].values()) == run.cycles
    assert found["units"][0]["busy_cycles"] == PROLOGUE + 6
    assert found["units"][0]["stall_cycles"] == {"input": 1}
    assert run.trace is not None
    assert run.signals is not None
    assert run.signals.window == range(run.cycles)


@pytest.mark.usefixtures("unchecked")
def test_a_section_that_never_came_to_its_run_is_kept_too() -> None:
    program = replace(bare(COPY), load=(ReadHostMemory(source="data", rows=3), sync(Queue.ARRAY, Counter.DMA_IN, 4)))
    error = hang(program, RunOptions(signals=range(9)))
    assert (error.section, error.run.statistics["end"]["section"]) == ("load", "load")
    assert error.run.statistics["load_cycles"] == error.run.cycles == 5
    assert error.run.signals is None


def test_a_sum_without_room_ends_the_run_there() -> None:
    topology = chip(8, units={"accumulator_bits": 8, "overflow": "refuse"})
    program = Bare(topology, [COPY, Step(alu=Alu.ADD, repeat=40)], {0: [9] * 8}, {}).program()
    with pytest.raises(AccessError) as caught:
        simulate(program, [])
    assert caught.value.exit_status == 3
    assert caught.value.run.statistics["end"]["kind"] == "access"


def test_the_error_goes_to_another_process_without_its_run() -> None:
    error = hang(replace(bare(), run=(Step(),)))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.section, again.run) == (str(error), "run", None)


def test_a_program_of_nothing_ends_after_a_cycle() -> None:
    run = simulate(replace(bare(), load=(), run=(Halt(),)), [])
    assert (run.cycles, run.statistics["load_cycles"]) == (1, 0)
    np.testing.assert_equal(run.statistics["breakdown"], {"no work": 1})
