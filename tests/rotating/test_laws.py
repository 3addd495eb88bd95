"""Laws that hold for all programs, and what is no law: more of something can be slower, by whom it makes meet."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rotating.programs import PROLOGUE, Bare, chip
from tests.rotating.random_programs import random_program
from tests.soak import counts
from tilesim.rotating.isa.model import instructions as isa
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.isa.walk import walk
from tilesim.rotating.run.simulate import simulate
from tilesim.rotating.topology import Topology
from tilesim.run import Run

SEEDS = st.integers(0, 1 << 30)
COPY = isa.Step(data=isa.Rows(0), alu=isa.Alu.COPY)


def links(run: Run) -> dict[str, int]:
    return {link["track"]: link["bytes"] for link in run.statistics["links"]}


def moved_rows(program: Program, kind: type[isa.ReadHostMemory | isa.WriteHostMemory]) -> int:
    return sum(op.rows for op in program.run if isinstance(op, kind))


@given(SEEDS)
@settings(max_examples=60)
def test_every_cycle_and_every_byte_is_accounted_for(seed: int) -> None:
    program, inputs = random_program(seed)
    run = simulate(program, inputs)
    found = run.statistics
    for unit in (*found["units"], *found["links"]):
        assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == run.cycles
    assert sum(found["breakdown"].values()) == run.cycles
    row_bytes = program.topology.row_bytes
    coming, going = (moved_rows(program, kind) for kind in (isa.ReadHostMemory, isa.WriteHostMemory))
    assert links(run) == {"nnu.host.in": coming * row_bytes, "nnu.host.out": going * row_bytes}
    busy = {unit["track"]: unit["busy_cycles"] for unit in (*found["units"], *found["links"])}
    assert (busy["nnu.dma_in"], busy["nnu.dma_out"]) == (coming, going)
    assert busy["nnu.host.in"] == coming * program.topology.link_cycles
    assert busy["nnu.host.out"] == going * program.topology.link_cycles
    slots, rows, fetched = _work(program)
    assert busy["nnu.array"] == slots
    assert busy["nnu.output"] == rows * program.topology.conversion_cycles
    assert busy["nnu.parameters"] == fetched


def _work(program: Program) -> tuple[int, int, int]:
    """Slots, rows of outs, rows of parameters: by what the queue holds alone."""
    tally: Tally[str] = Tally()
    topology = program.topology
    for _, op, _counters in walk(program.run):
        if isinstance(op, isa.Step):
            tally["slots"] += op.repeat
        elif isinstance(op, isa.Out | isa.Set | isa.Mask | isa.Parameters):
            tally["slots"] += 1
        if isinstance(op, isa.Out):
            tally["rows"] += 4 if op.function is isa.Function.RAW else 1
        if isinstance(op, isa.Parameters):
            tally["fetched"] += topology.table_rows if op.table else topology.parameter_rows
    return tally["slots"], tally["rows"], tally["fetched"]


@given(SEEDS)
@settings(max_examples=25)
def test_energy_is_counted_by_what_is_done_and_not_by_when(seed: int) -> None:
    """Whatever the ports, the host and the output unit are like."""
    program, inputs = random_program(seed)
    faster = changed(program, data_ram={"ports": "dual"}, host={"bytes_per_cycle": 1}, output={"buffers": 9})
    energies = [simulate(of, inputs).statistics["energy"] for of in (program, faster)]
    acted, again = (energy["actions"] for energy in energies if energy is not None)
    assert acted == again
    written = moved_rows(program, isa.ReadHostMemory) + _work(program)[1]
    assert acted["buffer_write"]["count"] == written * program.topology.row_bytes


@given(SEEDS, st.integers(2, 3))
@settings(max_examples=30)
def test_several_samples_give_what_each_gives_alone(seed: int, samples: int) -> None:
    program, [x] = random_program(seed)
    several = np.random.default_rng(seed).permuted(np.concatenate([x] * samples), axis=0)
    together = simulate(program, [several])
    alone = [simulate(program, [several[k : k + 1]]) for k in range(samples)]
    assert {run.cycles for run in alone} == {together.cycles}
    np.testing.assert_array_equal(together.outputs[0], np.concatenate([run.outputs[0] for run in alone]))
    assert all(run.statistics == together.statistics for run in alone)


def changed(program: Program, **keys: dict[str, Any]) -> Program:
    """The program on another chip; what it does is the same."""
    model = program.topology.model_dump()
    sections = {section: {**model[section], **values} for section, values in keys.items()}
    return replace(program, topology=Topology.model_validate({**model, **sections}))


MORE: dict[str, Callable[[Program], Program]] = {
    "host": lambda program: changed(program, host={"bytes_per_cycle": 2 * program.topology.host.bytes_per_cycle}),
    "ports": lambda program: changed(program, data_ram={"ports": "dual"}, weight_ram={"ports": "dual"}),
    "buffers": lambda program: changed(program, output={"buffers": program.topology.output.buffers + 1}),
    "latency": lambda program: changed(
        program, output={"latency_cycles": max(1, program.topology.output.latency_cycles - 1)}
    ),
    "words": lambda program: changed(program, output={"words_per_cycle": 0}),
}


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("programs", counts(60, 1500))
def test_more_is_hardly_ever_slower(more: str, programs: int) -> None:
    """It is where units meet at a port that did not before: of random programs in few, and by few cycles."""
    before, after = np.array([_cycles(seed, MORE[more]) for seed in range(programs)]).T
    assert np.mean(after > before) <= 0.1
    assert (after <= before * 1.2).all()
    assert after.sum() < before.sum()


def _cycles(seed: int, more: Callable[[Program], Program]) -> tuple[int, int]:
    program, inputs = random_program(seed)
    return _plain_cycles(seed), simulate(more(program), inputs).cycles


@cache
def _plain_cycles(seed: int) -> int:
    return simulate(*random_program(seed)).cycles


OPS = st.lists(
    st.one_of(
        st.builds(lambda repeat: isa.Step(rotate=1, repeat=repeat), st.integers(1, 9)),
        st.builds(lambda row: isa.Step(data=isa.Rows(row), alu=isa.Alu.COPY), st.integers(0, 5)),
        st.builds(lambda row, raw: isa.Out(row=isa.Rows(row), function=raw), st.integers(0, 2), st.sampled_from(
            [isa.Function.REQUANTISE, isa.Function.RAW])),
        st.builds(lambda row, k: isa.Out(row=isa.Rows(row), data=isa.Rows(k)), st.integers(0, 5), st.integers(0, 5)),
    ),
    min_size=1,
    max_size=20,
)  # fmt: skip


@given(OPS, st.integers(1, 8), st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=40)
def test_where_nobody_meets_at_a_port_more_is_never_slower(
    ops: Sequence[isa.Instruction], words: int, latency: int, buffers: int
) -> None:
    """The array and the output unit alone, with two ports: all waits are for what was begun before."""

    def cycles(words: int, latency: int, buffers: int) -> int:
        output = {"words_per_cycle": words, "latency_cycles": latency, "buffers": buffers}
        topology = chip(8, output=output, data_ram={"ports": "dual"})
        return simulate(Bare(topology, ops, {k: [0] * 8 for k in range(6)}, {}).program(), []).cycles

    plain = cycles(words, latency, buffers)
    assert cycles(8, latency, buffers) <= plain
    assert cycles(words, max(1, latency - 1), buffers) <= plain
    assert cycles(words, latency, buffers + 1) <= plain


WORK = isa.Step(rotate=1, repeat=30)


def test_a_shorter_latency_can_be_slower() -> None:
    """Counterexample: the row is written in the very cycle in which the array would load another."""
    array = [COPY, isa.Out(row=isa.Rows(9)), isa.Step(rotate=1, repeat=2), isa.Step(data=isa.Rows(0)), WORK]
    cycles = [_of(array, {"output": {"latency_cycles": latency}}) for latency in (1, 2, 3)]
    assert [after - before for before, after in pairwise(cycles)] == [-1, 0]


def test_a_faster_host_can_be_slower() -> None:
    """Counterexample: its row is written in the very cycle in which the array would load another."""
    array = [WORK, COPY, WORK]
    come = [isa.ReadHostMemory(source="data", row=30)]
    arrival = PROLOGUE + 30
    cycles = [_of(array, {"host": {"latency_cycles": latency}}, come) for latency in (arrival - 1, arrival)]
    assert [after - before for before, after in pairwise(cycles)] == [-1]


def test_more_buffers_can_be_slower() -> None:
    """Counterexample: the second out goes ahead, so that its row is written in 18 instead of 20; what came from the
    host is loaded in 18 and 19.
    """
    loads = isa.Step(data=isa.Rows(0), repeat=2)
    wait = isa.Sync(unit=isa.Queue.ARRAY, until=isa.Counter.DMA_IN, count=1)
    array = [isa.Out(row=isa.Rows(9)), isa.Out(row=isa.Rows(10)), wait, loads, WORK]
    come = [isa.ReadHostMemory(source="data", row=30)]
    keys = {"host": {"latency_cycles": PROLOGUE + 18 - 2}}
    cycles = [_of(array, {**keys, "output": {"words_per_cycle": 1, "buffers": buffers}}, come) for buffers in (1, 2)]
    assert [after - before for before, after in pairwise(cycles)] == [1]


def _of(array: Sequence[isa.Instruction], keys: dict[str, Any], dma: Sequence[isa.Instruction] = ()) -> int:
    return simulate(Bare(chip(8, **keys), array, {0: [*range(8)]}, {}, dma=dma).program(), []).cycles
