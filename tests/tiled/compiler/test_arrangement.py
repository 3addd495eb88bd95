"""Grids of places over tiles: neighbours are neighbours, and each lies at a side of its own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.machines.policies import MIXED
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.isa.model.fields import OPPOSITE, Side
from tilesim.tiled.topology import Grid

GRIDS = st.builds(Grid, rows=st.integers(2, 6), columns=st.integers(2, 6))


def test_a_snake_goes_there_and_back() -> None:
    column, row = Arrangement.snakes(Grid(rows=3, columns=2))
    assert column.tiles == row.tiles == (0, 1, 3, 2, 4, 5)
    assert [column.place(tile) for tile in column.tiles] == [(place, 0) for place in range(6)]
    assert [row.place(tile) for tile in row.tiles] == [(0, place) for place in range(6)]


@given(GRIDS)
def test_neighbours_in_a_snake_are_neighbours_on_the_mesh(grid: Grid) -> None:
    for snake in Arrangement.snakes(grid):
        for tile, other in pairwise(snake.tiles):
            (i, j), (k, m) = divmod(tile, grid.columns), divmod(other, grid.columns)
            assert abs(i - k) + abs(j - m) == 1


@given(GRIDS)
def test_what_one_sends_south_comes_from_the_north_to_the_next(grid: Grid) -> None:
    column, row = Arrangement.snakes(grid)
    for snake, behind in ((column, Side.SOUTH), (row, Side.EAST)):
        for tile, other in pairwise(snake.tiles):
            assert snake.sides(other)[OPPOSITE[behind]] is OPPOSITE[snake.sides(tile)[behind]]


@given(GRIDS)
def test_each_side_of_a_place_is_another_one_of_the_tile(grid: Grid) -> None:
    for arrangement in (Arrangement.plain(grid), *Arrangement.snakes(grid)):
        for tile in arrangement.tiles:
            assert set(arrangement.sides(tile).values()) == set(Side)
            assert arrangement.tile(*arrangement.place(tile)) == tile


@pytest.mark.parametrize("grid", [Grid(rows=1, columns=4), Grid(rows=4, columns=1)])
def test_a_chip_of_one_row_or_column_is_a_snake_already(grid: Grid) -> None:
    assert not list(Arrangement.snakes(grid))


@pytest.mark.parametrize(("shape", "cut"), [((33, 5), (16, 1)), ((9, 32), (1, 16)), ((16, 16), (4, 4))])
def test_long_maps_lie_in_one_column_or_row_of_tiles(
    tmp_path_factory: pytest.TempPathFactory, shape: tuple[int, int], cut: tuple[int, int]
) -> None:
    path = tmp_path_factory.mktemp("workload") / "long.yaml"
    layers = "".join(
        f"  - {{name: layer{k}, kind: convolution, kernel: [3, 3], filters: 40, padding: same}}\n" for k in range(3)
    )
    path.write_text(f"input: {{shape: [1, {shape[0]}, {shape[1]}, 8]}}\nlayers:\n{layers}", "utf-8")
    network = tilesim.load_network(path)
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4"), partition=MIXED)
    [made] = {(len(layer.cut.rows), len(layer.cut.columns)) for layer in program.layers if layer.cut}
    assert made == cut
    x = np.random.default_rng(1).integers(-128, 128, (1, *shape, 8)).astype(np.int8)
    run = tilesim.simulate(program, [x], keep_tensors=True)
    expected = network.evaluate([x])
    assert {node.output for node in network.nodes} <= run.tensors.keys()
    for index, tensor in run.tensors.items():
        np.testing.assert_array_equal(tensor, expected[index])
