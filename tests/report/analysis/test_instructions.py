"""The list of instructions: all of them, as the program has them; who let one go on is among those that it names."""

from __future__ import annotations

import pytest

import tilesim
from tests.machines.null import Topology as NullChip
from tilesim.machines.host import random_inputs
from tilesim.machines.program import Program
from tilesim.registry import machine_of
from tilesim.report.analysis.instructions import Listed, listed
from tilesim.sim.trace.trace import Trace


def ran(chip: str) -> tuple[Program, Trace]:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology(chip))
    trace = tilesim.simulate(program, random_inputs(program.inputs), trace=True).trace
    assert trace is not None
    return program, trace


@pytest.fixture(scope="module", params=["edge-2x2", "systolic-4"])
def digits(request: pytest.FixtureRequest) -> tuple[Program, Trace]:
    return ran(request.param)


def test_every_instruction_is_listed_with_its_words(digits: tuple[Program, Trace]) -> None:
    program, _ = digits
    rows, write = listed(program), machine_of(program.topology).assembly.write_instruction
    assert len(rows) == len(program.run) == len({row.label for row in rows})
    for row, op in zip(rows, program.run, strict=True):
        label = f"{op.label}:" if op.label else " "
        layer = f"layer={op.layer}" if op.layer >= 0 else ""
        assert write(op).split() == f"{label} {row.kind} {row.assembly} {layer}".split()
        assert row.explanation.operands


def test_traces_know_them_by_their_labels(digits: tuple[Program, Trace]) -> None:
    program, trace = digits
    run = {trace.whats[what] for what in trace.what[trace.start_cycle >= trace.start].tolist()} - {""}
    loaded = {op.label for op in program.load}
    assert run - loaded <= {row.label for row in listed(program)}


def test_who_let_an_instruction_go_on_is_named_by_the_program(digits: tuple[Program, Trace]) -> None:
    """Whatever waits for a flag, or for what another queue has retired, is released by one of those that its waits
    name; what is held behind a fence is not: that is the fence's wait.
    """
    program, trace = digits
    rows = {row.label: row for row in listed(program)}
    labels = [*rows]
    seen = 0
    for stall, by in enumerate(trace.released_by.tolist()):
        waiting, released_by = trace.whats[trace.what[stall]], trace.whats[trace.what[by]]
        reason, track = trace.kinds[trace.kind[stall]], trace.tracks[trace.track[stall]]
        if by < 0 or reason not in ("stall:flag", "stall:raw") or waiting not in rows or "instruction_bus" in track:
            continue
        assert released_by in named(rows[waiting], labels) or takes_turns(rows[waiting], rows[released_by])
        seen += 1
    assert seen


def takes_turns(row: Listed, other: Listed) -> bool:
    """Whether one waits for its turn on the ring, which no instruction raises, behind the other."""
    waits = any("its turn on the ring" in wait.words and not wait.by for wait in row.explanation.waits)
    return waits and other.kind in ("ring_produce", "infeed", "classify")


def named(row: Listed, labels: list[str]) -> set[str]:
    return {labels[place] for wait in row.explanation.waits for place in wait.by}


def test_own_units_are_tracks_of_the_trace(digits: tuple[Program, Trace]) -> None:
    program, trace = digits
    tracks = {track.rstrip("0123456789") for track in trace.tracks}
    for row in listed(program):
        if row.label in trace.whats and row.kind not in ("sync", "nop", "halt"):
            assert any(track.endswith(f".{row.explanation.unit}") for track in tracks), row


def test_a_machine_that_explains_nothing_has_its_words_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tilesim.MACHINES, "null", "tests.machines.null:Null")
    program = tilesim.compile(tilesim.load_network("digits"), NullChip(machine="null", name="null"))
    rows = listed(program)
    assert [row.kind for row in rows] == ["evaluate"] * len(program.run)
    assert {row.explanation.operands for row in rows} == {""}
