"""The layers of a run, and what is beside them, are the run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.registry import description_of
from tilesim.report.analysis.layers import (
    DEFINITIONS,
    array_cycles,
    beside,
    bound_words,
    causes,
    computes,
    costs,
    definitions,
    layers,
    total,
    working,
)
from tilesim.report.document import SavedRun
from tilesim.sim.core.unit import BUSY
from tilesim.systolic.run.bottleneck import CAUSES as SYSTOLIC_CAUSES
from tilesim.systolic.run.bottleneck import OTHER as IDLE
from tilesim.systolic.run.bottleneck import UNUSED, USEFUL
from tilesim.tiled.run.bottleneck import CAUSES, NO_WORK, OTHER

RUNS = ["digits_run", "keywords_run"]


def energy(run: SavedRun) -> dict[str, Any]:
    """An energy document for a run: a picojoule a layer more than the one before."""

    def part(pj: float) -> dict[str, Any]:
        return {"actions": {"narrow_read": {"count": 1, "bytes": 4, "pj": pj}}, "total_pj": pj}

    each = [part(float(k)) for k in range(len(run.statistics["layers"]))]
    whole = sum(layer["total_pj"] for layer in each) + 5.5
    return {"layers": each, "outside_layers": part(5.5), "actions": part(whole)["actions"], "total_pj": whole}


@pytest.mark.parametrize("name", RUNS)
def test_with_what_is_beside_them_they_sum_to_the_run(name: str, request: pytest.FixtureRequest) -> None:
    run: SavedRun = request.getfixturevalue(name)
    found = layers(run.statistics)
    everything = [*found, beside(run.statistics, found)]
    whole = total(run.statistics)
    assert sum(each.macs for each in everything) == run.statistics["macs"]
    for figures in ("breakdown", "entered", "carried"):
        sums: Counter[str] = Counter()
        for each in everything:
            sums.update(getattr(each, figures))
        assert +sums == +Counter(getattr(whole, figures))
    arrays = whole.tiles * run.statistics["cycles"]
    assert sum(sum(each.breakdown.values()) for each in everything) == arrays


@pytest.mark.parametrize("name", RUNS)
def test_rows_are_the_run_to_the_cycle(name: str, request: pytest.FixtureRequest) -> None:
    """Cycles, shares and MACs: a row's MACs in use, weighted with its cycles, come to those of the run."""
    run: SavedRun = request.getfixturevalue(name)
    found, whole = layers(run.statistics), total(run.statistics)
    everything = [*found, beside(run.statistics, found)]
    assert sum(each.array_cycles for each in everything) == whole.array_cycles == run.statistics["cycles"]
    assert sum(each.of_run for each in everything) == pytest.approx(whole.of_run)
    assert sum(each.in_use * each.of_run for each in everything) == pytest.approx(whole.in_use)
    for each in everything:
        assert abs(each.array_cycles - each.of_run * run.statistics["cycles"]) < 1
        assert 0 <= each.in_use <= 1


@given(st.lists(st.integers(0, 10**6), max_size=20), st.integers(1, 64), st.integers(0, 10**6))
def test_whole_cycles_add_up_and_are_less_than_a_cycle_off(layers: list[int], arrays: int, rest: int) -> None:
    cycles = -(-(sum(layers) + rest) // arrays)
    run = {
        "machine": "tiled",
        "cycles": cycles,
        "units": [unit(f"chip.tile{k}.mac_array", 1, 0) for k in range(arrays)],
        "layers": [{"breakdown": {"macs": taken}} for taken in layers],
    }
    *each, outside = array_cycles(run)
    assert sum(each) + outside == cycles
    assert outside >= 0
    assert all(abs(found - taken / arrays) < 1 for found, taken in zip(each, layers, strict=True))


def bound(cause: str | None, macs: int, busy: int, machine: str = "tiled") -> str:
    """A layer's, on 2 arrays of 256 MACs."""
    arrays = [unit(f"chip.tile{k}{description_of(machine).mac_arrays}", busy, 0) for k in range(2)]
    run = {"machine": machine, "cycles": 100, "macs": 5_120, "mac_utilisation": 0.1, "units": arrays}
    return bound_words({"bound_by": cause, "macs": macs, "mac_busy_cycles": busy}, run)


def test_a_busy_array_says_how_many_of_its_macs_a_layer_uses() -> None:
    assert bound("macs", 400, 100) == "4/256 MACs"
    assert bound("macs", 321, 100) == "3.2/256 MACs"
    assert bound("macs", 25_600, 100) == "256/256 MACs"
    assert bound("unused MACs", 3_200, 100, "systolic") == "32/256 MACs"
    assert bound("macs", 0, 100) == "MAC array"
    assert bound("ring", 400, 100) == "ring"
    assert bound("other", 0, 0, "systolic") == "other units"
    assert bound(None, 0, 0) == "-"


def test_without_energies_there_are_none(digits_run: SavedRun) -> None:
    run = {name: value for name, value in digits_run.statistics.items() if name != "energy"}
    found = layers(run)
    assert {each.energy_pj for each in (*found, beside(run, found), total(run))} == {None}
    assert all(each.action_bytes == {} for each in found)


def test_energies_sum_to_that_of_the_run(digits_run: SavedRun) -> None:
    run = {**digits_run.statistics, "energy": energy(digits_run)}
    found = layers(run)
    assert sum(each.energy_pj or 0 for each in (*found, beside(run, found))) == total(run).energy_pj
    assert found[3].energy_pj == 3.0
    assert found[3].action_bytes == {"narrow_read": 4}


def test_layers_are_told_apart_by_short_names(digits_run: SavedRun) -> None:
    first, second, *_ = layers(digits_run.statistics)
    assert (first.index, first.name, first.kind) == (0, "in0", "quantise")
    assert first.full_name == "in0_QuantizeLinear"
    assert (second.index, second.name, second.full_name) == (1, "stem", "stem")


def test_causes_in_the_order_of_their_explanations_strange_ones_last() -> None:
    run = {"machine": "tiled", "breakdown": {"weights": 3, "ring": 2, "macs": 1}}
    assert list(causes(run).items()) == [
        ("macs", "the MAC array multiplies, or does the layer's other work"),
        ("ring", "rows come too late over the ring"),
        ("weights", "weights"),
    ]


def test_columns_mean_what_the_machine_says_of_them() -> None:
    assert definitions({"machine": "systolic"})["cycles"].startswith("Those of the matrix unit")
    assert definitions({"machine": "abacus"}) == DEFINITIONS
    assert "gathered" in definitions({"machine": "tiled"})["outside layers"]
    assert (
        {*definitions({"machine": "tiled"})}
        == {*definitions({"machine": "systolic"})}
        == {*definitions({"machine": "rotating"})}
        == {*DEFINITIONS}
    )


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
    assert costs(statistics) == [
        (24, "without work: layers on other tiles only, or none left"),
        (9, "waiting for borders, which the mesh brings or fills"),
        (5, "computing 1 fully connected layer, 50% of the MACs in use"),
        (2, "waiting for an instruction"),
    ]
    assert len(working(statistics)) == 1


def test_they_add_up_to_a_real_run() -> None:
    program = tilesim.compile(tilesim.load_network("example-conv"), tilesim.load_topology("edge-1x1"))
    statistics = tilesim.simulate(program, [np.zeros((1, 16, 16, 4), np.int8)]).statistics
    assert sum(cycles for cycles, _ in costs(statistics)) == statistics["cycles"]


def test_everything_that_can_bind_has_words() -> None:
    assert {*description_of("tiled").causes} == {*CAUSES.values(), "host", NO_WORK, OTHER}
    assert {*description_of("systolic").causes} == {*SYSTOLIC_CAUSES.values(), USEFUL, UNUSED, IDLE} - {BUSY}
    for machine in ("tiled", "systolic", "rotating"):
        known = description_of(machine).causes
        computing = {cause for cause in known if computes(cause, {"machine": machine})}
        words = {"macs", "unused blocks", "words without an output", "padding channels"}
        assert computing == {cause for cause in known if "MACs" in cause or cause in words}


def test_a_machine_that_says_nothing_has_costs_too() -> None:
    statistics = {"machine": "abacus", "breakdown": {"macs": 7, "beads": 3}, "layers": [LAYER], "units": []}
    assert costs(statistics) == [
        (10, "computing 1 fully connected layer, 50% of the MACs in use"),
        (3, "waiting for beads"),
    ]
