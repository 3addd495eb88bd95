"""Where each layer stops scaling, and why."""

from __future__ import annotations

from typing import Any

from tests.report.exploration.ran import ran
from tests.report.exploration.rows import GRIDS, row
from tilesim.explore.row import MeasuredLayer, Row
from tilesim.report.exploration.layers import LayerScaling, layer_scaling
from tilesim.report.exploration.scaling import series


def chip(grid: tuple[int, int], *layers: MeasuredLayer) -> Row:
    """A row of a chip with these layers, and some cycles."""
    found = row(grid=grid)
    assert found["measures"] is not None
    found["measures"]["layers"] = list(layers)
    return found


def layer(name: str, tiles: int, **breakdown: float) -> MeasuredLayer:
    by_cause = {cause.replace("_", " "): cycles for cause, cycles in breakdown.items()}
    return {"name": name, "kind": "add", "tiles": tiles, "parameters": "", "breakdown": by_cause, "energy_pj": 9.0}


def scaling(*rows: Row) -> dict[str, LayerScaling]:
    return {each.name: each for each in layer_scaling(rows, series(rows)[0])}


def test_a_layer_has_the_cycles_of_its_own_tiles() -> None:
    """Those in which other tiles have nothing to do are no layer's own."""
    found = scaling(chip((1, 1), layer("a", 1, macs=80)), chip((2, 2), layer("a", 2, macs=25, no_work=30)))
    assert [(each.tiles, each.cycles, each.bound_by) for each in found["a"].chips if each] == [
        (1, 80, "macs"), (2, 50, "macs"),
    ]  # fmt: skip


def test_beyond_its_knee_a_layer_is_held_by_what_most_is_lost_to() -> None:
    found = scaling(
        chip((1, 1), layer("far", 1, macs=100), layer("halo", 1, macs=100), layer("one tile", 1, macs=100)),
        chip((1, 2), layer("far", 2, macs=50), layer("halo", 2, macs=50, mesh=1), layer("one tile", 1, macs=50)),
        chip((2, 2), layer("far", 4, macs=25), layer("halo", 4, macs=25, mesh=24), layer("one tile", 1, macs=25)),
    )
    assert {name: (each.knee, each.held_by) for name, each in found.items()} == {
        "far": (2, None), "halo": (1, "halo"), "one tile": (0, "serial"),
    }  # fmt: skip


def test_layers_without_cycles_are_left_out_and_one_may_be_missing() -> None:
    found = scaling(
        chip((1, 1), layer("a", 1, macs=8), layer("b", 0), layer("c", 1)),
        chip((1, 2), layer("new", 2, macs=8), layer("b", 0), layer("c", 2, no_work=9)),
    )
    assert {name: [bool(each) for each in layer.chips] for name, layer in found.items()} == {
        "a": [True, False], "new": [False, True],
    }  # fmt: skip
    assert found["a"].held_by is None


def test_layers_of_one_name_are_told_apart() -> None:
    rows = [chip(grid, layer("a", 1, macs=8), layer("a", 1, macs=4)) for grid in GRIDS[:2]]
    found: Any = layer_scaling(rows, series(rows)[0])
    assert [each.chips[0].cycles for each in found] == [8, 4]


def test_real_layers_have_all_of_the_runs_but_what_is_outside_and_without_work() -> None:
    rows = [ran("digits", chip) for chip in ("edge-1x1", "edge-1x2", "edge-2x2")]
    found = layer_scaling(rows, series(rows)[0])
    for place, each in enumerate(rows):
        assert each["measures"] is not None
        tiles, breakdown = each["measures"]["tiles"], each["measures"]["breakdown"]
        own = sum(chip.cycles * chip.tiles / tiles for layer in found if (chip := layer.chips[place]))
        assert abs(own - (each["measures"]["cycles"] - breakdown.get("no work", 0.0))) < 1e-6
