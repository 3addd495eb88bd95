"""Series of chips that differ only in their tiles, and the knees of these."""

from __future__ import annotations

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.exploration.rows import GRIDS, row, rows
from tilesim.explore.point import PointOptions
from tilesim.report.exploration.scaling import WORTH_IT, elasticity, knee_of, series


def test_chips_that_differ_only_in_tiles_are_one_series() -> None:
    [found] = series([row(grid=grid) for grid in reversed(GRIDS)])
    assert [one.tiles for one in found.rows] == [1, 2, 4, 8, 16, 32, 64]
    assert [one.shape for one in found.rows][:3] == ["1x1", "1x2", "2x2"]
    assert [one.row for one in found.rows] == [6, 5, 4, 3, 2, 1, 0]
    assert found.network == "net"
    assert found.settings["tile.lanes"] == 64
    assert "grid.rows" not in found.settings


def test_speed_up_and_efficiency_are_against_the_fewest_tiles() -> None:
    found = [row(grid=grid) for grid in ((1, 2), (2, 2))]
    found[0]["measures"]["cycles"], found[1]["measures"]["cycles"] = 900, 600
    [one, other] = series(found)[0].rows
    assert (one.speed_up, one.efficiency, one.elasticity) == (1.0, 1.0, None)
    assert (other.speed_up, other.efficiency) == (1.5, 0.75)
    assert isclose(other.elasticity or 0, 0.585, rel_tol=1e-3)
    assert other.time_us == pytest.approx(1.2)


def test_what_is_set_otherwise_makes_another_series() -> None:
    chips = ({}, {"tile.lanes": 32})
    found = [
        row(network, grid, chip=chip, options=options)
        for network in ("a", "b") for chip in chips for options in (PointOptions(), PointOptions("channel"))
        for grid in GRIDS[:2]
    ]  # fmt: skip
    assert len(series(found)) == 8


def test_of_layouts_of_as_many_tiles_the_fastest_counts() -> None:
    found = [row(grid=grid) for grid in ((1, 1), (4, 1), (2, 2), (1, 4))]
    for each, cycles in zip(found, (1000, 300, 280, 290), strict=True):
        each["measures"]["cycles"] = cycles
    assert [(one.shape, one.cycles) for one in series(found)[0].rows] == [("1x1", 1000), ("2x2", 280)]


def test_points_that_did_not_run_and_lonely_ones_are_in_no_series() -> None:
    found = [row(grid=(1, 1)), row(grid=(2, 2), status="failed"), row("other", grid=(1, 1), status="refused")]
    assert series(found) == []


def test_networks_of_one_name_with_other_macs_are_not_compared() -> None:
    assert series([row(grid=(1, 1), layers=3), row(grid=(2, 2), layers=4)]) == []


@pytest.mark.parametrize(
    ("cycles", "knee"),
    [
        ((800, 400, 200, 100), 3),  # ideal: none up to the last
        ((800, 600, 590, 580), 0),  # no step is worth it
        ((800, 400, 300, 290), 1),  # 4/3 for twice the tiles is too little
        ((800, 600, 300, 290), 2),  # a layout on the way is a bad one, and yet both steps together are worth it
        ((800, 400, 400, 400), 1),
    ],
)
def test_the_knee_is_the_last_chip_that_is_worth_it(cycles: tuple[int, ...], knee: int) -> None:
    assert knee_of(list(zip((1, 2, 4, 8), cycles, strict=True))) == knee


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=9))
def test_to_the_knee_every_way_is_worth_it_and_beyond_it_none(cycles: list[int]) -> None:
    costs = [(2**k, each) for k, each in enumerate(cycles)]
    knee = knee_of(costs)
    assert all(elasticity(cost, costs[knee]) >= WORTH_IT - 1e-9 for cost in costs[:knee])
    assert all(elasticity(costs[knee], cost) <= WORTH_IT + 1e-9 for cost in costs[knee + 1 :])


def test_the_longest_series_come_first() -> None:
    lengths = [len(one.rows) for one in series(rows(300))]
    assert lengths == sorted(lengths, reverse=True)
