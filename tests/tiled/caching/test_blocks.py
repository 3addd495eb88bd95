"""A fully connected layer over tiles, block by block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.caching.blocks import blocks_per_tile

KIB = 1024


def test_a_mebibyte_in_tiles_of_300_kib() -> None:
    """Oracle 22, its first half."""
    assert blocks_per_tile(64, 16 * KIB, [300 * KIB] * 16) == {0: 18, 1: 18, 2: 18, 3: 10}


def test_one_tile_rather_than_several() -> None:
    assert blocks_per_tile(6, 16, [80, 97, 97, 96]) == {1: 6}


def test_a_budget_is_never_filled() -> None:
    assert blocks_per_tile(4, 16, [32, 48, 0, -9, 32]) == {1: 2, 0: 1, 4: 1}


def test_all_or_nothing() -> None:
    assert blocks_per_tile(4, 16, [32, 48]) == {}


@given(st.integers(1, 20), st.integers(1, 9), st.lists(st.integers(-3, 60), max_size=5))
def test_over_as_few_tiles_as_can_be(blocks: int, size: int, budget: list[int]) -> None:
    found = blocks_per_tile(blocks, size, budget)
    most = sorted((max(0, each - 1) // size for each in budget), reverse=True)
    fewest = next((n for n in range(len(most) + 1) if sum(most[:n]) >= blocks), 0)
    assert len(found) == fewest
    assert sum(found.values()) == (blocks if fewest else 0)
    assert all(share * size < budget[tile] for tile, share in found.items())
