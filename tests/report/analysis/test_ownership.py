"""Who makes what of a layer's map: what the run says is where the program's pieces are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.made import saved
from tilesim import api
from tilesim.errors import InputError
from tilesim.machines.host import random_inputs
from tilesim.report.analysis.floorplan import Grid, grid_of
from tilesim.report.analysis.ownership import LayerMap, layer_maps
from tilesim.statistics import RunStatistics

GRID = Grid(2, 2)
CUT = {"extent": [5, 4, 8], "rows": [0, 3], "columns": [0, 2], "block": 0}


def said(cut: dict[str, Any]) -> RunStatistics:
    layer = {"layer": 0, "choice": "spatial", "reason": "asked for", "map": cut}
    return saved(partition={"asked": "spatial", "layers": [layer], "candidates": []}).statistics


@pytest.mark.parametrize(
    ("model", "chip", "partition"),
    [("digits", "edge-2x2", "spatial"), ("example-residual", "edge-4x4", "spatial"), ("digits", "edge-2x2", "channel")],
)
def test_what_the_run_says_is_where_the_pieces_of_tensors_are(model: str, chip: str, partition: str) -> None:
    network = api.load_network(model)
    program = api.compile(network, api.load_topology(chip), partition=partition)
    statistics = api.simulate(program, random_inputs(program.inputs)).statistics
    grid = grid_of(statistics)
    assert grid
    maps = {cut.layer: cut for cut in layer_maps(statistics, grid)}
    assert set(maps) == {place["layer"] for place in statistics["partition"]["layers"]} != set()
    compared = 0
    for place, cut in maps.items():
        pieces = [piece for piece in program.pieces if piece.index == network.nodes[place].output]
        for piece in pieces:
            box = tuple(range(at, at + size) for at, size in zip(piece.origin, piece.extent, strict=True))
            assert cut.part(piece.tile, grid) == box
        parts = [tile for tile in range(grid.tiles) if all(cut.part(tile, grid))]
        assert not pieces or parts == sorted(piece.tile for piece in pieces)
        compared += len(pieces)
    assert compared >= grid.tiles


def test_tiles_at_the_end_may_make_less_or_nothing() -> None:
    cut = LayerMap(0, (3, 4, 8), (0, 2, 3, 3), (0, 4), 0)
    grid = Grid(3, 1)
    assert [cut.part(tile, grid)[0] for tile in range(3)] == [range(2), range(2, 3), range(3, 3)]
    by_channel = LayerMap(0, (3, 4, 8), (), (), 3)
    assert [by_channel.part(tile, grid)[2] for tile in range(3)] == [range(3), range(3, 6), range(6, 8)]
    assert not by_channel.part(3, Grid(4, 1))[2]


def test_a_run_that_says_nothing_has_no_maps() -> None:
    assert layer_maps(saved(partition=None).statistics, GRID) == []
    older = {"asked": "spatial", "layers": [{"layer": 0, "choice": "spatial", "reason": "asked for"}], "candidates": []}
    assert layer_maps(saved(partition=older).statistics, GRID) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"rows": [0]}, "partition.layers[0].map.rows must be 2 numbers that rise to at most 5, not [0]"),
        ({"columns": [3, 2]}, "partition.layers[0].map.columns must be 2 numbers that rise to at most 4, not [3, 2]"),
        ({"rows": [0, 9]}, "partition.layers[0].map.rows must be 2 numbers that rise to at most 5, not [0, 9]"),
    ],
)
def test_a_map_that_is_cut_for_another_grid_is_refused(change: dict[str, Any], fault: str) -> None:
    assert [cut.rows for cut in layer_maps(said(CUT), GRID)] == [(0, 3, 5)]
    with pytest.raises(InputError) as caught:
        layer_maps(said({**CUT, **change}), GRID)
    assert [*caught.value.faults] == [fault]
