"""Memories of all tiles in one array, and parts of them."""

import numpy as np
import pytest

import tilesim
from tilesim.tiled.dataflow.stacks import Stacks
from tilesim.tiled.topology import Topology


@pytest.fixture(scope="module")
def topology() -> Topology:
    found = tilesim.load_topology("edge-4x4")
    assert isinstance(found, Topology)
    return found


@pytest.mark.parametrize(
    ("tiles", "samples", "parts"),
    [
        ([3], 1, [(3,)]),
        (range(16), 1, [tuple(range(16))]),
        ([0, 4, 8, 12], 1, [(0, 4, 8, 12)]),
        ([0, 4, 8, 12], 2, [(0,), (4,), (8,), (12,)]),
        (range(4, 8), 2, [(4, 5, 6, 7)]),
        ([5, 6, 9, 10], 1, [(5, 6), (9, 10)]),
    ],
)
def test_parts_are_progressions(
    topology: Topology, tiles: list[int], samples: int, parts: list[tuple[int, ...]]
) -> None:
    assert [part.tiles for part in Stacks(topology, samples).parts(tiles)] == parts


@pytest.mark.parametrize(("tiles", "samples"), [([0, 4, 8, 12], 1), ([4, 5, 6], 2), ([7], 3)])
def test_parts_are_views(topology: Topology, tiles: list[int], samples: int) -> None:
    stacks = Stacks(topology, samples)
    for part in stacks.parts(tiles):
        rows = len(part.tiles) * samples
        part.wide.write_row(256, np.arange(rows, dtype=np.uint8)[:, None].repeat(4, 1) + 1)
    assert (stacks.wide[tiles, :, 256:260].reshape(-1, 4)[:, 0] == np.arange(len(tiles) * samples) + 1).all()
    assert stacks.wide.sum() == 4 * sum(range(1, len(tiles) * samples + 1))


def test_what_all_tiles_get_is_repeated_only_if_samples_differ(topology: Topology) -> None:
    [part] = Stacks(topology, 2).parts([1, 2])
    alike, own = np.array([[7]], np.uint8), np.array([[1], [2]], np.uint8)
    assert part.spread(alike).tolist() == [[7]]
    assert part.spread(own).tolist() == [[1], [2], [1], [2]]
