"""Whole runs: samples, holds, windows; again, in another process, from a file, in whatever order events are taken."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.rotating.programs import PROLOGUE, Bare, chip, rows_tensor
from tests.rotating.random_programs import random_program
from tests.soak import counts
from tilesim.errors import ArrayError, InputError
from tilesim.rotating import stepped
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    End,
    Loop,
    Out,
    Queue,
    ReadHostMemory,
    Rows,
    Step,
    Sync,
)
from tilesim.rotating.isa.model.program import Program
from tilesim.run import Look, Run
from tilesim.sim.core.clock import Clock
from tilesim.sim.trace.recorder import Recording

ROOT = Path(__file__).parents[3]
COPY = Step(data=Rows(0), alu=Alu.COPY, label="copy")
RUN_OF_A_FILE = """
import sys
import numpy as np
import tilesim
program = tilesim.load_program(sys.argv[1])
run = tilesim.simulate(program, [np.load(sys.argv[2])], trace=True)
print(run.cycles, run.statistics["load_cycles"], run.statistics["trace_sha256"], run.outputs[0].tobytes().hex())
"""


def run(seed: int, **options: Any) -> Run:
    program, inputs = random_program(seed)
    return tilesim.simulate(program, inputs, **options)


def digest(found: Run) -> str:
    sha = found.statistics["trace_sha256"]
    assert sha
    return f"{found.cycles} {found.statistics['load_cycles']} {sha} {found.outputs[0].tobytes().hex()}"


def digits() -> Program:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("nnu-1024-jump"))
    assert isinstance(program, Program)
    return program


@pytest.mark.parametrize("suffix", [".tasm", ".tbin"])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_saved_program_runs_alike_in_another_process(tmp_path: Path, suffix: str, seed: int | None) -> None:
    rng = np.random.default_rng(3)
    program, inputs = random_program(seed) if seed else (digits(), [])
    inputs = inputs or [rng.random((1, *program.inputs[0].shape[1:])).astype(program.inputs[0].dtype)]
    tilesim.save_program(program, tmp_path / f"saved{suffix}")
    np.save(tmp_path / "x.npy", inputs[0])
    code = [sys.executable, "-c", RUN_OF_A_FILE, str(tmp_path / f"saved{suffix}"), str(tmp_path / "x.npy")]
    environment = {**os.environ, "PYTHONHASHSEED": "1234"}
    fresh = subprocess.run(code, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    assert fresh.stdout.strip() == digest(tilesim.simulate(program, inputs, trace=True))


def shuffled(seed: int) -> Iterator[int]:
    """Sequence numbers for events, none twice, in no order: SimPy takes events of one time and priority by theirs."""
    generator, number = random.Random(seed), 0  # noqa: S311
    while True:
        number += 1
        yield generator.getrandbits(30) << 40 | number


def disorder(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Make every clock from now on disorderly."""
    plain = Clock.__init__

    def disordered(self: Clock) -> None:
        plain(self)
        self._eid = shuffled(seed)  # type: ignore[assignment]

    monkeypatch.setattr(Clock, "__init__", disordered)


@pytest.mark.parametrize("programs", counts(40, 1000))
def test_the_order_of_events_within_a_phase_changes_nothing(monkeypatch: pytest.MonkeyPatch, programs: int) -> None:
    """Neither the order in which processes are created, nor in which the events of one phase of a cycle are queued."""
    plain = [run(seed, trace=True) for seed in range(programs)]
    assert [found.json() for found in plain[:5]] == [run(seed, trace=True).json() for seed in range(5)]
    disorder(monkeypatch, programs)
    assert next(Clock()._eid) > 1 << 20
    for seed, before in enumerate(plain):
        after = run(seed, trace=True)
        assert after.statistics == before.statistics, seed
        assert after.trace is not None
        assert before.trace is not None
        np.testing.assert_array_equal(after.trace.released_by, before.trace.released_by, str(seed))
        assert after.outputs[0].tobytes() == before.outputs[0].tobytes()


@pytest.mark.parametrize("programs", counts(30, 1000))
def test_each_unit_is_at_the_same_instruction_for_the_same_reason_as_in_the_second_model(programs: int) -> None:
    """In each cycle, those of loading included."""
    for seed in range(programs):
        program, inputs = random_program(seed)
        trace, outcome = run(seed, trace=True).trace, stepped.simulate(program, inputs, trace=True)
        assert trace is not None
        names = [
            (trace.tracks[track], trace.kinds[kind], trace.whats[what])
            for track, kind, what in zip(trace.track, trace.kind, trace.what, strict=True)
        ]
        ours = {
            (track, cycle, kind, label)
            for (track, kind, label), start, cycles in zip(names, trace.start_cycle, trace.cycles, strict=True)
            for cycle in range(start, start + cycles)
        }
        assert ours == {
            (track, cycle, kind, label)
            for track, start, cycles, kind, label in outcome.spans
            for cycle in range(start, start + cycles)
        }, seed


def test_a_trace_and_signals_cost_no_cycles() -> None:
    for seed in range(10):
        plain, watched = run(seed), run(seed, trace=True, signals=range(50), keep_tensors=True)
        assert {**watched.statistics, "trace_sha256": None} == plain.statistics


def test_several_samples_of_a_network_give_what_each_gives_alone() -> None:
    program = digits()
    x = np.random.default_rng(0).random((5, *program.inputs[0].shape[1:])).astype(program.inputs[0].dtype)
    together = tilesim.simulate(program, [x], keep_tensors=True)
    alone = [tilesim.simulate(program, [x[k : k + 1]], keep_tensors=True) for k in range(5)]
    assert {found.cycles for found in alone} == {together.cycles}
    np.testing.assert_array_equal(together.outputs[0], np.concatenate([found.outputs[0] for found in alone]))
    for index, tensor in together.tensors.items():
        np.testing.assert_array_equal(tensor, np.concatenate([found.tensors[index] for found in alone]))


def bare() -> Program:
    """Two rows of the host are added, and sent back."""
    topology = chip(8, host={"bytes_per_cycle": 8})
    array = [Sync(unit=Queue.ARRAY, until=Counter.DMA_IN, count=2), COPY]
    array += [Step(data=Rows(1), alu=Alu.ADD, label="add"), Out(row=Rows(9), label="out")]
    come = ReadHostMemory(rows=2, label="come")
    return Bare(topology, array, {}, {}, dma=[come], inputs=(rows_tensor(topology, 2, "x"),)).program([9])


X = np.arange(16, dtype=np.int8).reshape(1, 2, 8, 1)


@pytest.mark.parametrize("label", ["copy", "add", "out", "come"])
@pytest.mark.parametrize("cycle", [0, PROLOGUE + 1, 100])
def test_an_instruction_can_be_held(label: str, cycle: int) -> None:
    plain, held = (tilesim.simulate(bare(), [X], holds=holds) for holds in ({}, {label: cycle}))
    assert held.cycles >= plain.cycles
    assert (held.cycles > 100) == (cycle == 100)
    waits = sum(unit["stall_cycles"].get("hold", 0) for unit in held.statistics["units"])
    assert waits > 50 if cycle == 100 else waits <= 2 + (PROLOGUE + 1) * (label == "come")
    np.testing.assert_array_equal(held.outputs[0], plain.outputs[0])


def test_holds_must_name_instructions_that_a_unit_takes_up() -> None:
    ops = bare().run
    looped = replace(bare(), run=(Loop(count=1, label="loop"), Step(), End(), *ops))
    with pytest.raises(InputError) as caught:
        tilesim.simulate(looped, [X], holds={"cop": 1, "copy@0": 2, "loop": 3, "add": -3})
    assert caught.value.faults == (
        "hold must be the label of an instruction, not 'cop'; did you mean 'copy'?",
        "hold 'copy@0': must name no tile: copy goes to none",
        "hold 'loop': must be an instruction that a unit takes up, not a loop",
        f"hold 'add': must be up to a cycle from 0 to {1 << 40}, not -3",
    )


def test_inputs_must_fit() -> None:
    with pytest.raises(ArrayError, match="must be of dtype int8, not int16"):
        tilesim.simulate(bare(), [X.astype(np.int16)])
    with pytest.raises(ArrayError):
        tilesim.simulate(bare(), [X[:, :1]])


def test_a_look_tells_how_far_it_is() -> None:
    looks: list[Look] = []
    found = tilesim.simulate(digits(), on_start=looks.append)
    section, cycle, layer, names = looks[0]()
    assert (section, layer) == ("run", None)
    assert cycle == found.cycles
    assert len(names) == len(found.statistics["layers"])


def test_labels_are_made_up_where_there_are_none() -> None:
    found = run(0, trace=True)
    assert found.trace is not None
    assert {"run[0]", "load[0]"} <= set(found.trace.whats)


def test_what_is_recorded_can_be_bounded() -> None:
    found = tilesim.simulate(digits(), trace=Recording(range(100, 300), ("nnu.array", "nnu.host.*")))
    assert found.trace is not None
    assert set(found.trace.tracks) <= {"nnu.array", "nnu.host.in", "nnu.host.out"}
    starts = found.trace.start_cycle - found.trace.start
    assert starts.min() < 300
    assert (starts + found.trace.cycles).max() >= 100


def test_tracks_that_the_chip_does_not_have_are_refused() -> None:
    with pytest.raises(InputError, match=r"nnu\.aray"):
        tilesim.simulate(bare(), [X], trace=Recording(None, ("nnu.aray",)))


def test_loading_is_counted_by_itself() -> None:
    """The rows of a set, one by one, over a link of a row a cycle; the last is seen a cycle after its write."""
    found = tilesim.simulate(bare(), [X])
    assert found.statistics["load_cycles"] == 9 + 1
    assert found.statistics["cycles"] == found.cycles
