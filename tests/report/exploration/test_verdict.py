"""The knee in sentences."""

from __future__ import annotations

from tests.report.exploration.rows import row
from tilesim.explore.row import Row
from tilesim.report.exploration.scaling import series
from tilesim.report.exploration.verdict import verdict


def words(*cycles: int) -> str:
    """The verdict on chips of 1, 2, 4, … tiles that took so many cycles, all more than ideal lost to the mesh."""
    rows = [_row((1, 2**k), cycles[0], each) for k, each in enumerate(cycles)]
    return verdict(rows, series(rows)[0])


def _row(grid: tuple[int, int], first: int, cycles: int) -> Row:
    found = row("vww", grid)
    assert found["measures"] is not None
    ideal = first / grid[1]
    breakdown = {"macs": ideal, "mesh": cycles - ideal}
    found["measures"] |= {"cycles": cycles, "breakdown": breakdown, "layers": []}
    return found


def test_it_says_where_the_knee_is_and_what_the_step_beyond_it_loses() -> None:
    assert words(800, 500, 480) == (
        "The knee of vww is at 2 tiles: 1.6 × as fast as 1 tile, at an efficiency of 80%. Going on to 4 tiles, 2 × as "
        "many, makes it 1.04 × as fast: of the 230 cycles that it lacks, most are lost to halo (100%)."
    )


def test_a_network_that_scales_has_no_knee() -> None:
    assert words(800, 400, 200) == ("vww has no knee up to 4 tiles, 4 × as fast as 1 tile at an efficiency of 100%.")


def test_the_first_chip_may_be_the_knee_and_more_tiles_may_be_slower() -> None:
    assert words(800, 900) == (
        "The knee of vww is at 1 tile, the fewest that ran. Going on to 2 tiles, 2 × as many, does not make it faster: "
        "of the 500 cycles that it lacks, most are lost to halo (100%)."
    )
