"""What is watched of a run is what its trace and its state log say, cycle by cycle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tilesim
from tilesim.errors import CollisionError
from tilesim.registry import description_of
from tilesim.report.watch import Activity, Packet, Watch, documents
from tilesim.run import Run
from tilesim.sim.trace.recorder import Recording

OVERLAP = Path(__file__).parents[2] / "workloads/dual-master/overlap.tasm"


def watched(run: Run, machine: str = "tiled", patterns: Sequence[str] = ()) -> Watch:
    assert run.trace is not None
    assert run.signals is not None
    return Watch(run.trace, run.signals, description_of(machine), patterns)


def pocket(chip: str, window: range) -> Run:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology(chip))
    return tilesim.simulate(program, trace=Recording(window), signals=window)


@pytest.mark.parametrize(("chip", "machine"), [("pocket-2x1", "tiled"), ("systolic-4", "systolic")])
def test_units_are_busy_or_wait_as_long_as_they_say(chip: str, machine: str) -> None:
    run = pocket(chip, range(1 << 40))
    watch = watched(run, machine, ["*"])
    accounts = {unit["track"]: unit for unit in [*run.statistics["units"], *run.statistics["links"]]}
    for unit in watch.units:
        states = [now.state for now in watch.activity(unit) if now]
        stalls = {reason: n for reason, n in accounts[unit]["stall_cycles"].items() if reason != "work"}
        assert states.count("busy") == accounts[unit]["busy_cycles"], unit
        assert {reason: states.count(reason) for reason in stalls} == stalls, unit
    idle = accounts.keys() - set(watch.units)
    assert not any(accounts[unit]["busy_cycles"] for unit in idle)


@pytest.mark.parametrize("chip", ["pocket-2x1", "systolic-4"])
def test_a_window_shows_the_same_as_the_whole(chip: str) -> None:
    machine = tilesim.load_topology(chip).machine
    whole = {one["cycle"]: one for one in documents(watched(pocket(chip, range(1 << 40)), machine, ["*"]))}
    part = list(documents(watched(pocket(chip, range(40, 90)), machine, ["*"])))
    assert [one["cycle"] for one in part] == [*range(40, 90)]
    assert part == [whole[cycle] for cycle in range(40, 90)]


def test_what_meets_on_the_ring() -> None:
    program = tilesim.load_program(OVERLAP)
    run = tilesim.simulate(program, trace=True, rules="observe", signals=range(1 << 40))
    [meeting] = run.statistics["findings"]
    at = meeting["cycle"]
    watch = watched(run)
    assert (watch.activity("chip.tile0.ring_producer")[at], at) == (Activity("busy", "first.send"), 20)
    here = watch.passage("chip.ring.link2")
    assert here[at] == (None, Packet("other.send", 0, 2), 0)
    assert here[at + 1] == (Packet("first.send", 3, 1), Packet("first.send", 3, 1), 1)
    assert "chip.instruction_bus.stop0" not in watch.units
    assert "chip.instruction_bus.stop0" in watched(run, patterns=["*"]).units
    assert watched(run, patterns=["chip.tile2.*"]).flags == [name for name in watch.flags if "tile2" in name]


def test_a_run_that_ends_early_shows_the_same_up_to_there() -> None:
    program = tilesim.load_program(OVERLAP)
    whole = tilesim.simulate(program, trace=True, rules="observe", signals=range(1 << 40))
    with pytest.raises(CollisionError) as met:
        tilesim.simulate(program, trace=True, signals=range(1 << 40))
    early = met.value.run
    assert early is not None
    assert early.cycles == 21
    shown = list(documents(watched(early, patterns=["chip.tile*", "chip.ring.*"])))
    assert shown == list(documents(watched(whole, patterns=["chip.tile*", "chip.ring.*"])))[:21]


def test_lines_of_json_leave_out_what_is_not() -> None:
    shown: list[dict[str, Any]] = list(documents(watched(pocket("pocket-2x1", range(20)))))
    assert json.loads(json.dumps(shown)) == shown
    assert shown[0] == {
        "cycle": 0,
        "units": {"chip.controller": {"state": "busy", "instruction": "start"}},
        "ring": {},
        "flags": shown[0]["flags"],
        "queues": {},
    }
    assert {value for one in shown for value in one["flags"].values()} <= {1, 2}


def test_patterns_that_match_nothing_are_told() -> None:
    watch = watched(pocket("pocket-2x1", range(20)), patterns=["chip.tile0.*", "chip.tile7.*"])
    [fault] = watch.unmatched("pocket-2x1")
    assert fault.startswith("must be a unit or link of pocket-2x1, or a pattern of such, not 'chip.tile7.*'")
