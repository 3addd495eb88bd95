"""What decides on a grid for a network's maps, against runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilesim
from tilesim.errors import CapacityError
from tilesim.machines.policies import MIXED, Wishes
from tilesim.network.graph import Network
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.estimate import estimated_cycles, is_long
from tilesim.tiled.compiler.fitting import fitted
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.tile_plan import plan_operators
from tilesim.tiled.topology import Topology

SLACK = 1.05
"""How much slower than the fastest grid the chosen one may be."""


def builders(network: Network, chip: Topology) -> list[ProgramBuilder]:
    plan = plan_operators(network, chip.narrow_memory.word_bytes)
    grids = (Arrangement.plain(chip.grid), *Arrangement.snakes(chip.grid))
    return [ProgramBuilder(chip, plan, *fitted(plan, chip, Wishes(MIXED), grid)) for grid in grids]


def cycles(network: Network, chip: Topology, grid: Arrangement, monkeypatch: pytest.MonkeyPatch) -> int:
    """Of a run with all maps cut over a grid."""
    with monkeypatch.context() as patch:
        patch.setattr("tilesim.tiled.compiler.plan.is_long", lambda _plan, snake: snake == grid)
        patch.setattr("tilesim.tiled.compiler.plan.fastest", lambda found: found[-1])
        program = tilesim.compile(network, chip, partition=MIXED)
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    return tilesim.simulate(program, inputs).cycles


@pytest.mark.parametrize("chip", ["edge-2x2", "edge-4x4", "fig2-5x2"])
@pytest.mark.parametrize("model", ["mlperf_kws_dscnn", "mlperf_resnet8", "digits", "example-residual"])
def test_the_chosen_grid_is_the_fastest_or_nearly(
    model: str, chip: str, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [*found] = (models / model).glob("*.tflite")
    network, topology = tilesim.load_network(found[0] if found else model), tilesim.load_topology(chip)
    grids = (Arrangement.plain(topology.grid), *Arrangement.snakes(topology.grid))
    by_grid = {str(grid): cycles(network, topology, grid, monkeypatch) for grid in grids}
    program = tilesim.compile(network, topology, partition=MIXED)
    [chosen] = {
        f"{len(layer.cut.rows)} x {len(layer.cut.columns)}" for layer in program.layers if layer.cut and layer.cut.rows
    }
    assert by_grid[chosen] <= SLACK * min(by_grid.values())


def test_an_estimate_ranks_grids_as_runs_do(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keyword spotting on maps of 25 x 5: one column of 16 tiles, then the chip's own grid, then one row."""
    [path] = (models / "mlperf_kws_dscnn").glob("*.tflite")
    network, chip = tilesim.load_network(path), tilesim.load_topology("edge-4x4")
    found = builders(network, chip)
    estimates = [estimated_cycles(builder) for builder in found]
    ran = [cycles(network, chip, builder.partition.arrangement, monkeypatch) for builder in found]
    assert np.argsort(estimates).tolist() == np.argsort(ran).tolist() == [1, 0, 2]


def test_on_a_narrow_mesh_what_neighbours_exchange_counts_more() -> None:
    """A word in one, two and four beats: the estimates rise by the words, then by twice as much."""
    network = tilesim.load_network("example-residual")
    one, two, four = (
        [estimated_cycles(builder) for builder in builders(network, tilesim.load_topology("edge-2x2", keys))]
        for keys in ({}, {"mesh.width_bytes": 2}, {"mesh.width_bytes": 1})
    )
    words = np.subtract(two, one)
    assert (words > 0).all()
    assert (np.subtract(four, two) == 2 * words).all()


@pytest.mark.parametrize(("width", "cycles"), [(256, 3), (128, 4), (8, 34)])
def test_a_row_of_weights_costs_what_the_ring_takes_for_it(width: int, cycles: int) -> None:
    """And a cycle at the port that it leaves by, and at the one that it comes to. What stays in every tile costs the
    same on a ring of any width.
    """
    network = tilesim.load_network("example-residual")
    for size, expected in (("16 KiB", cycles), ("512 KiB", 3)):
        chip = tilesim.load_topology("edge-2x2", {"ring.width_bytes": width, "wide_memory.size_bytes": size})
        assert builders(network, chip)[0].weight_row_cycles == expected


def test_only_long_maps_are_worth_another_grid(models: Path) -> None:
    chip = tilesim.load_topology("edge-4x4")
    for model, wanted in (("mlperf_kws_dscnn", [True, False]), ("mlperf_resnet8", [False, False])):
        [path] = (models / model).glob("*.tflite")
        plan = plan_operators(tilesim.load_network(path), 4)
        assert [is_long(plan, snake) for snake in Arrangement.snakes(chip.grid)] == wanted


def test_a_grid_on_which_maps_do_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_plan: object, _chip: object, _wishes: object, grid: Arrangement) -> object:
        if grid.order:
            raise CapacityError("too large")
        return real(_plan, _chip, _wishes)

    real = fitted
    monkeypatch.setattr("tilesim.tiled.compiler.plan.fitted", refuse)
    monkeypatch.setattr("tilesim.tiled.compiler.plan.is_long", lambda *_: True)
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2"), partition=MIXED)
    assert {len(layer.cut.rows) for layer in program.layers if layer.cut and layer.cut.rows} == {2}
