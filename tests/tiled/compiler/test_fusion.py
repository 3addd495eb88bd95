"""What is made in each band of a group of layers."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.tiled.compiler.axis import Axis
from tilesim.tiled.compiler.fusion import FusionGroup, fusible, infer_bounds, inner_tensors, nodes_of, slices
from tilesim.tiled.compiler.partition import Partition, partition_network
from tilesim.tiled.compiler.tile_plan import TilePlan, plan_operators

BLOCK = """
seed: 1
input: {shape: [1, 8, 6, 4]}
layers:
 - {name: wide, kind: convolution, filters: 24, kernel: [1, 1]}
 - {name: deep, kind: depthwise_convolution, kernel: [3, 3], strides: [2, 1]}
 - {name: few, kind: convolution, filters: 4, kernel: [1, 1]}
 - {name: wide2, kind: convolution, filters: 24, kernel: [3, 3]}
 - {name: few2, kind: convolution, filters: 4, kernel: [1, 1]}
 - {name: sum, kind: add, other: few}
 - {name: pool, kind: average_pool, window: [4, 6], padding: valid}
"""


@pytest.fixture
def plan(tmp_path: Path) -> TilePlan:
    path = tmp_path / "net.yaml"
    path.write_text(BLOCK)
    return plan_operators(tilesim.load_network(path), 4)


def spread(plan: TilePlan, chip: str, *groups: FusionGroup) -> Partition:
    return partition_network(plan, tilesim.load_topology(chip), groups)


def made(plan: TilePlan, step: int) -> int:
    return plan.steps[step - 1][1].output


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 45))
def test_slices_make_up_what_each_tile_owns(size: int, parts: int, bands: int) -> None:
    own = Axis.cut(size, parts)
    cut = slices(own, bands)
    most = -(-max(map(len, own)) // bands)
    for i, mine in enumerate(own):
        assert [row for band in cut for row in band[i]] == list(mine)
        assert all(len(band[i]) <= most for band in cut)


def test_a_trace_follows_windows_back_and_stays_on_the_map_inside(plan: TilePlan) -> None:
    """Two rows of four: a 1 x 1 kernel needs the same, three rows with stride 2 five, one of them off the map."""
    nodes = nodes_of(plan, range(1, 4))
    bounds = infer_bounds(plan, nodes, {made(plan, 3): (range(2), range(2, 4))}, 0)
    assert bounds.own[made(plan, 2)] == (range(2), range(2, 4))
    assert bounds.need[made(plan, 1)] == (range(5), range(4, 9))
    assert bounds.own[made(plan, 1)] == (range(5), range(4, 8))
    assert bounds.need[plan.sources[0].stored.index] == (range(5), range(4, 8))


def test_inside_a_group_is_what_only_its_steps_read(plan: TilePlan) -> None:
    source = plan.sources[0].stored.index
    assert inner_tensors(plan, range(1, 4)) == [made(plan, 1), made(plan, 2), source]
    assert inner_tensors(plan, range(2, 4)) == [made(plan, 2)]
    assert inner_tensors(plan, range(3, 7)) == [made(plan, 3), made(plan, 4), made(plan, 5)]


@pytest.mark.parametrize(
    ("steps", "can"),
    [
        (range(1, 4), True),
        (range(1, 7), True),
        (range(4, 7), True),
        (range(3, 5), False),  # the sum reads what is made and read inside
        (range(5, 8), False),  # the pool reads all of the map for each output
        (range(4, 5), False),  # there is nothing inside
    ],
)
def test_outputs_of_a_group_are_read_elsewhere_only(plan: TilePlan, steps: range, can: bool) -> None:
    assert fusible(plan, steps) is can


def test_jobs_go_through_a_group_again_for_each_band(plan: TilePlan) -> None:
    calls = spread(plan, "edge-1x1", FusionGroup(range(4, 7), 2)).calls
    assert [call.label for call in calls[3:9]] == [
        "convolution3.band0",
        "convolution4.band0",
        "add5.band0",
        "convolution3.band1",
        "convolution4.band1",
        "add5.band1",
    ]
    assert [call.completes for call in calls[3:9]] == [True, True, False, True, True, True]
    assert [call.rows for call in (calls[5], calls[8])] == [(range(2),), (range(2, 4),)]
    assert calls[4].reads == {made(plan, 4): f"tensor{made(plan, 4)}.band0"}


def test_tiles_own_what_they_need_of_a_band_and_more_of_what_the_group_reads(plan: TilePlan) -> None:
    partition = spread(plan, "edge-2x2", FusionGroup(range(4, 7), 2))
    inner = [partition.maps[f"tensor{made(plan, 4)}.band{band}"] for band in (0, 1)]
    assert [map_.rows.own for map_ in inner] == [(range(1), range(2, 3)), (range(1, 2), range(3, 4))]
    assert not inner[0].rows.exchanges
    assert not inner[0].columns.exchanges
    assert partition.maps[f"tensor{made(plan, 3)}"].rows.need == (range(-1, 3), range(1, 5))
    assert f"tensor{made(plan, 4)}" not in partition.maps
    assert partition.maps_of(made(plan, 4)) == [f"tensor{made(plan, 4)}.band{band}" for band in (0, 1)]


def test_a_part_of_a_map_can_be_cut_to_some_rows(plan: TilePlan) -> None:
    partition = spread(plan, "edge-1x1", FusionGroup(range(4, 7), 2))
    map_, call = partition.maps[f"tensor{made(plan, 6)}"], partition.calls[8]
    [(tile, part)] = call.parts(map_)
    assert (tile, part.rows, part.block.rows) == (0, range(2, 4), range(2, 4))
    assert part.at(2, 0) == map_.part(0).at(2, 0)
