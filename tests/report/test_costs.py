from __future__ import annotations

import numpy as np

import tilesim
from tilesim.registry import description_of
from tilesim.report.costs import computes, costs, working
from tilesim.sim.core.unit import BUSY
from tilesim.systolic.run.bottleneck import CAUSES as SYSTOLIC_CAUSES
from tilesim.systolic.run.bottleneck import OTHER as IDLE
from tilesim.systolic.run.bottleneck import UNUSED, USEFUL
from tilesim.tiled.run.bottleneck import CAUSES, NO_WORK, OTHER

LAYER = {"kind": "fullyconnected", "mac_busy_cycles": 10, "cycles": 20, "mac_utilisation": 0.25, "tiles": 1}


def unit(track: str, busy: int, idle: int, **stalls: int) -> dict[str, object]:
    return {"track": track, "busy_cycles": busy, "idle_cycles": idle, "stall_cycles": stalls}


def test_costs_are_the_run_in_words_the_largest_first() -> None:
    statistics = {
        "machine": "tiled",
        "cycles": 40,
        "breakdown": {"no work": 48, "mesh": 18, "macs": 10, "instruction bus": 4},
        "layers": [LAYER, {**LAYER, "kind": "softmax", "mac_busy_cycles": 0, "cycles": 0, "tiles": 0}],
        "units": [
            unit("chip.tile0.mac_array", 10, 4, flag=18, work=8),
            unit("chip.tile1.mac_array", 0, 0, work=40),
            unit("chip.controller", 40, 0),
        ],
    }
    assert [(cost.cycles, cost.what) for cost in costs(statistics)] == [
        (24, "without work: layers on other tiles only, or none left"),
        (9, "waiting for borders, which the mesh brings or fills"),
        (5, "computing 1 fully connected layer, 50% of the MACs in use"),
        (2, "waiting for an instruction"),
    ]
    assert len(working(statistics)) == 1


def test_they_add_up_to_a_real_run() -> None:
    program = tilesim.compile(tilesim.load_network("example-conv"), tilesim.load_topology("edge-1x1"))
    statistics = tilesim.simulate(program, [np.zeros((1, 16, 16, 4), np.int8)]).statistics
    assert sum(cost.cycles for cost in costs(statistics)) == statistics["cycles"]


def test_everything_that_can_bind_has_words() -> None:
    assert {*description_of("tiled").causes} == {*CAUSES.values(), "host", NO_WORK, OTHER}
    assert {*description_of("systolic").causes} == {*SYSTOLIC_CAUSES.values(), USEFUL, UNUSED, IDLE} - {BUSY}
    for machine in ("tiled", "systolic"):
        known = description_of(machine).causes
        computing = {cause for cause in known if computes(cause, {"machine": machine})}
        assert computing == {cause for cause in known if "MACs" in cause or cause == "macs"}


def test_a_machine_that_says_nothing_has_costs_too() -> None:
    statistics = {"machine": "abacus", "breakdown": {"macs": 7, "beads": 3}, "layers": [LAYER], "units": []}
    assert [(cost.cycles, cost.what) for cost in costs(statistics)] == [
        (10, "computing 1 fully connected layer, 50% of the MACs in use"),
        (3, "waiting for beads"),
    ]
