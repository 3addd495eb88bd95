"""Which layers are fused, and in how many bands."""

from pathlib import Path
from typing import Any

import pytest

import tilesim
from tilesim.tiled.compiler.fitting import choose, fitted
from tilesim.tiled.compiler.fusion import FusionGroup
from tilesim.tiled.compiler.partition import Partition, partition_network
from tilesim.tiled.compiler.tile_plan import plan_operators

HEAD = "seed: 1\ninput: {shape: [1, 16, 8, 4]}\nlayers:\n"
NARROW = " - {name: a, kind: convolution, filters: 4, kernel: [1, 1]}\n"
WIDE = " - {name: b, kind: convolution, filters: 64, kernel: [1, 1]}\n"
DEEP = " - {name: c, kind: depthwise_convolution, kernel: [3, 3]}\n"
FEW = " - {name: d, kind: convolution, filters: 4, kernel: [1, 1]}\n"


def whole(tmp_path: Path, layers: str, **changes: Any) -> Partition:
    path = tmp_path / "net.yaml"
    path.write_text(HEAD + layers)
    chip = {key.replace("__", "."): value for key, value in changes.items()}
    return partition_network(plan_operators(tilesim.load_network(path), 4), tilesim.load_topology("edge-1x1", chip))


def test_maps_that_fit_are_left_whole(tmp_path: Path) -> None:
    assert choose(whole(tmp_path, NARROW + WIDE + FEW), 16 * 8 * 68) == []


def test_the_largest_map_is_cut_in_as_few_bands_as_fit(tmp_path: Path) -> None:
    """16 rows of 8 x 64 bytes do not fit beside two maps of 16 x 8 x 4: 8 of them do, or 5, or one."""
    partition = whole(tmp_path, NARROW + WIDE + FEW)
    beside, row = 2 * 16 * 8 * 4, 8 * 64
    assert choose(partition, beside + 8 * row) == [FusionGroup(range(2, 4), 2)]
    assert choose(partition, beside + 5 * row) == [FusionGroup(range(2, 4), 4)]
    assert choose(partition, beside + row) == [FusionGroup(range(2, 4), 16)]


def test_an_input_comes_in_bands_if_it_must(tmp_path: Path) -> None:
    """A row of both maps inside, and of the input as much as a wide row brings."""
    partition = whole(tmp_path, NARROW + WIDE + FEW)
    least = 16 * 8 * 4 + 8 * (4 + 64) + partition.topology.wide_memory.row_bytes
    assert choose(partition, least) == [FusionGroup(range(1, 4), 16)]
    assert choose(partition, least - 4) is None


def test_where_not_even_a_row_fits_there_is_no_way(tmp_path: Path) -> None:
    assert choose(whole(tmp_path, WIDE + FEW), 16 * 8 * 4 + 8 * 64) is None


def test_one_row_is_no_two_bands(tmp_path: Path) -> None:
    partition = whole(tmp_path, " - {name: p, kind: convolution, filters: 4, kernel: [16, 1], padding: valid}\n")
    assert choose(partition, 16 * 8 * 4) is None


def test_what_is_made_again_counts(tmp_path: Path) -> None:
    """Two depthwise layers in one group make rows again; with room for the map between them there are two groups."""
    again = (WIDE + DEEP + FEW).replace("b,", "e,").replace("c,", "f,").replace("d,", "g,")
    partition = whole(tmp_path, WIDE + DEEP + FEW + again)
    assert [group.steps for group in choose(partition, 10 * 1024) or []] == [range(1, 4), range(4, 7)]


def test_parameters_that_must_all_be_there_at_once_are_not_fused(tmp_path: Path) -> None:
    small = whole(tmp_path, NARROW + WIDE + FEW, wide_memory__size_bytes=1024)
    assert choose(small, 2 * 16 * 8 * 4 + 8 * 8 * 64) is None


def test_bands_of_a_tensor_lie_at_one_address_and_take_turns(tmp_path: Path) -> None:
    partition = whole(tmp_path, NARROW + WIDE + FEW, narrow_memory__size_bytes=4096)
    by_bands, placement = fitted(partition.plan, partition.topology)
    [group] = [fused.group for fused in by_bands.fused]
    names = by_bands.maps_of(partition.plan.steps[1][1].output)
    assert len(names) == group.bands > 1
    assert len({placement.maps[name].address for name in names}) == 1
    assert names[0] in placement.predecessors(names[1])
    assert names[1] not in placement.predecessors(names[0])


def test_a_network_that_does_not_even_fit_in_bands_is_refused(tmp_path: Path) -> None:
    partition = whole(tmp_path, WIDE + FEW, narrow_memory__size_bytes=1000)
    with pytest.raises(tilesim.CapacityError, match="tensor b must fit the narrow memory"):
        fitted(partition.plan, partition.topology)
