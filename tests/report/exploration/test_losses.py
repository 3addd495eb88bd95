"""What more tiles lose: parts that add up to the difference, whatever the rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.exploration.ran import CHIPS, ran
from tests.report.exploration.rows import GRIDS, row
from tilesim.explore.row import MeasuredLayer, Measures
from tilesim.registry import MACHINES, description_of
from tilesim.report.exploration.losses import LOSSES, spent, waterfall

TILED = description_of("tiled")
CAUSES = (*TILED.causes, "an unknown one")


def layer(tiles: int, parameters: str = "copy", **breakdown: float) -> MeasuredLayer:
    by_cause = {cause.replace("_", " "): cycles for cause, cycles in breakdown.items()}
    return {"name": "l", "kind": "add", "tiles": tiles, "parameters": parameters, "breakdown": by_cause, "energy_pj": 1}


def measures(tiles: int, layers: list[MeasuredLayer], **outside: float) -> Measures:
    """Those of a run whose causes are those of its layers, and what is outside."""
    base = row()["measures"]
    assert base is not None
    total: dict[str, float] = {cause.replace("_", " "): cycles for cause, cycles in outside.items()}
    for each in layers:
        for cause, cycles in each["breakdown"].items():
            total[cause] = total.get(cause, 0.0) + cycles
    return {**base, "tiles": tiles, "cycles": round(sum(total.values())), "breakdown": total, "layers": layers}


def some(found: Any) -> dict[str, float]:
    """The losses that are not nothing."""
    return {name: round(cycles, 6) for name, cycles in found.items() if abs(cycles) > 1e-9}


def test_each_cause_is_lost_to_what_an_architect_calls_it() -> None:
    layers = [layer(4, macs=50, port=3, output_write=2, mesh=4, ring=5, host=6, instruction_bus=7, flags=8)]
    assert some(spent(measures(4, layers), TILED)) == {
        "remainder": 50, "ports": 5, "halo": 4, "bus": 18, "tile": 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("home", "name"), [("copy", "bus"), ("home tile", "parameters"), ("copy and streamed", "parameters")]
)
def test_rows_that_come_late_are_parameters_where_these_are_sent(home: str, name: str) -> None:
    assert some(spent(measures(4, [layer(4, home, ring=9)]), TILED)) == {name: 9}


def test_what_a_machine_does_not_tell_of_is_another_loss() -> None:
    assert some(spent(measures(2, [layer(2, odd=9)], strange=1), TILED)) == {"other": 10}


def test_tiles_without_work_wait_for_layers_on_others_or_are_left_out_or_idle() -> None:
    """Of 100 cycles on 4 tiles, the widest layer is on 3; then one on a single tile takes it 20: two others wait, 10
    cycles of the average tile. One tile is left out: 25.
    """
    layers = [layer(3, macs=48, no_work=4), layer(1, macs=5)]
    found = spent(measures(4, layers, no_work=43), TILED)
    assert some(found) == {"remainder": 53, "serial": 4 + 10, "unused": 25, "idle": 8}


def test_what_there_is_not_is_not_split() -> None:
    layers = [layer(1, macs=90), layer(1, macs=5)]
    assert some(spent(measures(4, layers, no_work=5), TILED)) == {"remainder": 95, "unused": 5}


def test_more_tiles_that_do_better_have_parts_below_nothing() -> None:
    found = waterfall(measures(1, [layer(1, macs=100, port=20)]), measures(2, [layer(2, macs=45, port=12)]), TILED)
    assert (found.ideal, found.actual) == (60, 57)
    assert some(found.parts) == {"remainder": -5, "ports": 2}
    assert found.largest == [("ports", 2)]


cycles_by_cause = st.dictionaries(st.sampled_from(CAUSES), st.floats(0, 1e7), max_size=6)
homes = st.sampled_from(["", "copy", "partition", "home tile", "copy and streamed"])


@st.composite
def runs(draw: st.DrawFn) -> Measures:
    tiles = draw(st.integers(1, 64))
    layers = [
        {**layer(draw(st.integers(0, tiles)), draw(homes)), "breakdown": draw(cycles_by_cause)}
        for _ in range(draw(st.integers(0, 4)))
    ]
    outside = {cause.replace(" ", "_"): cycles for cause, cycles in draw(cycles_by_cause).items()}
    found = measures(tiles, layers, **outside)
    return {**found, "cycles": sum(found["breakdown"].values())}


@given(runs(), runs())
def test_it_adds_up_whatever_the_rows(one: Measures, other: Measures) -> None:
    for each in (one, other):
        assert sum(spent(each, TILED).values()) == pytest.approx(each["cycles"], abs=1e-3)
    found = waterfall(one, other, TILED)
    assert found.ideal + sum(found.parts.values()) == pytest.approx(found.actual, abs=1e-3)


def test_it_adds_up_for_the_rows_of_the_tests() -> None:
    found = [measures for grid in GRIDS if (measures := row(grid=grid, layers=7)["measures"])]
    for one, other in pairwise(found):
        step = waterfall(one, other, TILED)
        assert step.ideal + sum(step.parts.values()) == pytest.approx(other["cycles"], rel=1e-12)


@pytest.mark.parametrize("workload", ["pocket", "digits"])
def test_it_adds_up_for_every_pair_of_real_runs(workload: str) -> None:
    found = [measures for chip in CHIPS if (measures := ran(workload, chip)["measures"])]
    assert len(found) >= 7  # digits does not fit the smallest two
    for one in found:
        assert sum(spent(one, TILED).values()) == pytest.approx(one["cycles"], rel=1e-12)
        for other in found:
            step = waterfall(one, other, TILED)
            assert step.ideal + sum(step.parts.values()) == pytest.approx(other["cycles"], rel=1e-12)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_says_what_its_causes_are_lost_to(machine: str) -> None:
    causes = description_of(machine).causes.values()
    assert {cause.lost for cause in causes} <= LOSSES.keys() - {"other"}
