"""What run.json holds of a run: accounts, layers, bytes, energy, and who let stalls end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rotating.programs import PROLOGUE, Bare, chip, rows_tensor
from tilesim.machines.options import RunOptions
from tilesim.report.document import load_run
from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    Function,
    Instruction,
    Out,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Set,
    Step,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.model.program import Layer, Program
from tilesim.rotating.run.simulate import simulate
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording
from tilesim.statistics import UnitStatistics

TRACKS = ["array", "output", "parameters", "dma_in", "dma_out"]
LINKS = ["host.in", "host.out"]
SLOTS = 1 + 2 + 3 + 1
PARAMETERS = 9
ROW = 8
"""Bytes of a row, and words."""


def program() -> Program:
    """Two rows come and one of weights, are multiplied and added, and the sum goes back; in two layers."""
    topology = chip(8, host={"bytes_per_cycle": 4}, units={"word_bits": 8})
    wait = Sync(unit=Queue.ARRAY, until=Counter.DMA_IN, count=3, layer=0, label="wait")
    array: list[Instruction] = [
        wait,
        Step(data=Rows(20), weights=Rows(40), alu=Alu.MULTIPLY_ADD, layer=0, label="first"),
        Step(rotate=1, alu=Alu.MULTIPLY_ADD, repeat=2, layer=0, label="turned"),
        Step(rotate=1, repeat=3, layer=1, label="moved"),
        Out(row=Rows(9), data=Rows(21), layer=1, label="out"),
    ]
    dma = [
        ReadHostMemory(row=20, rows=2, layer=0, label="come"),
        ReadHostMemory(source="data", ram=Ram.WEIGHT, row=40, layer=0, label="weights"),
        Sync(unit=Queue.DMA_OUT, until=Counter.OUTPUT, count=1, label="until"),
        WriteHostMemory(row=9, layer=1, label="go"),
    ]
    made = Bare(topology, array, {}, {}, dma=dma, inputs=(rows_tensor(topology, 2, "x"),)).program()
    layers = (Layer("products", "convolution", 24, used_units=8, output_units=8), Layer("sums", "add", 0))
    return replace(made, layers=layers, outputs=(rows_tensor(topology, 1, "y", 1),))


X = np.arange(16, dtype=np.int8).reshape(1, 2, 8, 1)


@pytest.fixture(scope="module", name="run")
def _run() -> Run:
    return simulate(program(), [X], RunOptions(recording=Recording()))


def unit(run: Run, track: str) -> UnitStatistics:
    return next(one for one in (*run.statistics["units"], *run.statistics["links"]) if one["track"] == f"nnu.{track}")


def test_reports_can_read_it(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path)
    saved = load_run(tmp_path)
    assert saved.statistics["machine"] == "rotating"
    assert saved.trace is not None
    assert set(saved.trace.tracks) <= {f"nnu.{track}" for track in (*TRACKS, *LINKS)}


def test_tracks_and_bytes(run: Run) -> None:
    assert [one["track"] for one in run.statistics["units"]] == [f"nnu.{track}" for track in TRACKS]
    assert {one["track"]: one["bytes"] for one in run.statistics["links"]} == {
        "nnu.host.in": 3 * ROW,
        "nnu.host.out": ROW,
    }
    assert run.statistics["bytes"]["host"] == {"entered": 4 * ROW, "carried": 4 * ROW}
    assert run.statistics["streamed_bytes"] == ROW


def test_every_cycle_is_accounted_for(run: Run) -> None:
    for one in (*run.statistics["units"], *run.statistics["links"]):
        assert one["busy_cycles"] + sum(one["stall_cycles"].values()) + one["idle_cycles"] == run.cycles
    array = unit(run, "array")
    # Rows are written in 2, 4 and 6: they are there before the prologue is over.
    assert (array["busy_cycles"], array["stall_cycles"]) == (PROLOGUE + SLOTS, {})
    assert unit(run, "dma_in")["stall_cycles"] == {"host": 4}
    assert unit(run, "parameters")["busy_cycles"] == PARAMETERS
    written = PROLOGUE + SLOTS - 1 + 3
    assert unit(run, "dma_out")["stall_cycles"] == {"work": written + 1}
    assert run.cycles == written + 1 + 1 + 2


def test_what_is_said_of_the_whole(run: Run) -> None:
    found = run.statistics
    assert (found["macs"], found["mac_utilisation"]) == (24, 24 / (8 * run.cycles))
    assert found["throughput_per_second"] == 2_000_000_000 / run.cycles
    assert found["breakdown"] == {
        "capture": PROLOGUE + 1, "useful MACs": 3, "rotation": 3, "no work": run.cycles - PROLOGUE - SLOTS,
    }  # fmt: skip
    [request] = found["requests"]
    assert (request["start_cycle"], request["end_cycle"], request["outputs"]) == (0, run.cycles, [0])


def test_what_is_said_of_a_layer(run: Run) -> None:
    first, second = run.statistics["layers"]
    assert (first["start_cycle"], first["cycles"], first["breakdown"]) == (PROLOGUE, 3, {"useful MACs": 3})
    assert (second["start_cycle"], second["cycles"]) == (PROLOGUE + 3, 4)
    assert second["breakdown"] == {"rotation": 3, "capture": 1}
    assert (first["mac_busy_cycles"], first["mac_utilisation"], first["bound_by"]) == (3, 1.0, "useful MACs")
    assert [layer["bytes"]["host"]["carried"] for layer in (first, second)] == [3 * ROW, ROW]
    assert [layer["place"] for layer in (first, second)] == ["array", "array"]


def test_a_layer_without_an_instruction_is_nowhere() -> None:
    made = replace(program(), layers=(*program().layers, Layer("gone", "reshape", 0)))
    *_, last = simulate(made, [X]).statistics["layers"]
    assert (last["place"], last["cycles"], last["tiles"], last["breakdown"]) == ("nowhere", 0, 0, {})


def counted(actions: Mapping[str, Any]) -> dict[str, int]:
    return {action: one["count"] for action, one in actions.items()}


def test_energy_by_hand(run: Run) -> None:
    energy = run.statistics["energy"]
    assert energy is not None
    assert counted(energy["actions"]) == {
        "mac_8x8": 3 * 8,
        "accumulator_read": 4 * 8 * (3 + 1),
        "accumulator_write": 4 * 8 * 3,
        "cell_hop": ROW * (2 + 3),
        "buffer_read": ROW * (2 + PARAMETERS + 1),  # data and weights, the set, the row that leaves
        "buffer_write": ROW * (3 + 1),
        "add_32": 2 * 8,
        "multiply_32": 8,
        "host_transfer": 4 * ROW,
    }
    first, second = (counted(layer["actions"]) for layer in energy["layers"])
    assert first == {
        "mac_8x8": 24, "accumulator_read": 96, "accumulator_write": 96, "cell_hop": 16, "buffer_read": 16,
        "buffer_write": 24, "host_transfer": 24,
    }  # fmt: skip
    assert second == {
        "accumulator_read": 32, "cell_hop": 24, "buffer_read": 8, "buffer_write": 8, "add_32": 16, "multiply_32": 8,
        "host_transfer": 8,
    }  # fmt: skip
    assert energy["actions"]["mac_8x8"]["bytes"] == 0
    assert energy["actions"]["cell_hop"]["bytes"] == 5 * ROW


@pytest.mark.parametrize(
    ("function", "arithmetic"),
    [(Function.RAW, {}), (Function.COMBINE, {"multiply_32": 3 * 8, "add_32": 2 * 8})],
)
def test_what_each_function_costs(function: Function, arithmetic: dict[str, int]) -> None:
    control = Set(scaling=(0, 1 << 30, 0, 0, 1 << 30, 0, 0, 1 << 30, 0))
    made = Bare(chip(8), [control, Out(row=Rows(9), function=function)], {0: [0] * 8}, {}).program()
    energy = simulate(made, []).statistics["energy"]
    assert energy is not None
    rows = 4 if function is Function.RAW else 1
    assert counted(energy["actions"]) == {
        "accumulator_read": 32, "buffer_read": PARAMETERS * ROW, "buffer_write": rows * ROW, **arithmetic,
    }  # fmt: skip


def released(run: Run) -> set[tuple[str, str, str, str]]:
    """Track and kind of each stall of the run that somebody ended, and that one's track and instruction."""
    trace = run.trace
    assert trace is not None
    tracks = [trace.tracks[k].removeprefix("nnu.") for k in trace.track]
    kinds, whats = [trace.kinds[k] for k in trace.kind], [trace.whats[k] for k in trace.what]
    ended = [k for k, by in enumerate(trace.released_by) if by >= 0 and trace.start_cycle[k] >= trace.start]
    return {(tracks[k], kinds[k], tracks[trace.released_by[k]], whats[trace.released_by[k]]) for k in ended}


def test_a_stalls_end_has_somebody_behind_it(run: Run) -> None:
    assert released(run) == {
        ("dma_in", "stall:host", "host.in", "come"),
        ("dma_in", "stall:host", "host.in", "weights"),
        ("dma_out", "stall:work", "output", "out"),
    }


def test_who_let_the_array_go_on() -> None:
    """The row that was counted last, even if its unit is at the next instruction when it is."""
    topology = chip(8, host={"bytes_per_cycle": 8, "latency_cycles": PROLOGUE}, output={"buffers": 1})
    array = [
        Sync(unit=Queue.ARRAY, until=Counter.DMA_IN, count=1),
        Out(row=Rows(9), label="a"),
        Out(row=Rows(10), label="b"),
        Step(data=Rows(10)),
    ]
    dma = [ReadHostMemory(source="data", row=k, label=f"row{k}") for k in (30, 31)]
    run = simulate(Bare(topology, array, {}, {}, dma=dma).program(), [], RunOptions(recording=Recording()))
    assert {end for end in released(run) if end[0] == "array"} == {
        ("array", "stall:input", "dma_in", "row30"),
        ("array", "stall:fifo", "output", "a"),
        ("array", "stall:raw", "output", "b"),
    }
