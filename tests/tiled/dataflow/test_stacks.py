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
    ("tiles", "samples", "blocks"),
    [
        ([3], 1, [1]),
        (range(16), 1, [16]),
        ([0, 4, 8, 12], 1, [4]),
        ([0, 4, 8, 12], 2, [1, 1, 1, 1]),
        (range(4, 8), 2, [4]),
        ([5, 6, 9, 10], 1, [2, 2]),
        ([0, 1, 2, 6, 10, 15], 1, [3, 2, 1]),
    ],
)
def test_blocks_are_progressions(topology: Topology, tiles: list[int], samples: int, blocks: list[int]) -> None:
    part = Stacks(topology, samples).part(tiles)
    assert [len(block) for block in part.wide.blocks] == [count * samples for count in blocks]
    assert (part.tiles, part.narrow.samples) == (tuple(tiles), len(tiles) * samples)


@pytest.mark.parametrize(("tiles", "samples"), [([0, 4, 8, 12], 1), ([4, 5, 6, 9], 2), ([7], 3), ([1, 2, 7], 1)])
@pytest.mark.parametrize("addresses", [[256, 260], [256, 264]])
def test_blocks_are_views(topology: Topology, tiles: list[int], samples: int, addresses: list[int]) -> None:
    stacks = Stacks(topology, samples)
    memory, rows = stacks.part(tiles).wide, len(tiles) * samples
    words = np.arange(rows * 8, dtype=np.uint8).reshape(rows, 2, 4) + 1
    memory.write_words(np.array(addresses), words)
    for k, address in enumerate(addresses):
        assert (stacks.wide[tiles, :, address : address + 4].reshape(-1, 4) == words[:, k]).all()
        assert (memory.row(address, 4) == words[:, k]).all()
    assert stacks.wide.sum() == words.sum()
    assert (memory.words(np.array(addresses), 4) == words).all()
    memory.write_words(np.array(addresses), words[:1])
    assert (memory.words(np.array(addresses), 4) == words[:1]).all()


def test_what_all_tiles_get_is_repeated_only_if_samples_differ(topology: Topology) -> None:
    part = Stacks(topology, 2).part([1, 2])
    alike, own = np.array([[7]], np.uint8), np.array([[1], [2]], np.uint8)
    assert part.spread(alike).tolist() == [[7]]
    assert part.spread(own).tolist() == [[1], [2], [1], [2]]
