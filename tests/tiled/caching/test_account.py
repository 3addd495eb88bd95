"""What a plan comes to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.caching.sets import parts, shared
from tilesim.tiled.caching.account import (
    CacheAccount,
    accounts,
    delivery_cycles,
    descriptors,
    load_bytes,
    streamed_bytes,
)
from tilesim.tiled.caching.plan import plan

PEAKS = (50, 80)
DECISIONS = plan([shared(20, 0b11), parts(5, 0b11), shared(12, 0b11), shared(30, 0b11)], [60, 30], range(4))


def test_each_byte_of_a_tile_is_somebodys() -> None:
    assert accounts(DECISIONS, 120, 10, PEAKS) == (CacheAccount(0, 120, 10, 50, 37), CacheAccount(1, 120, 10, 80, 25))
    assert [account.free_bytes for account in accounts(DECISIONS, 120, 10, PEAKS)] == [23, 5]


def test_copies_are_loaded_once_and_parts_each() -> None:
    assert [each.home for each in DECISIONS] == ["copy", "partition", "home tile", "streamed"]
    assert load_bytes(DECISIONS) == 20 + 2 * 5 + 12
    assert streamed_bytes(DECISIONS) == 30


@pytest.mark.parametrize(("size", "cycles"), [(0, 0), (1, 1), (8, 4), (9, 5)])
def test_data_memory_delivers_two_bytes_a_cycle(size: int, cycles: int) -> None:
    assert delivery_cycles(size, 2) == cycles


LAYERS, CACHED = "ABCDE", {"A", "C", "E"}


def test_cached_layers_side_by_side_need_one_descriptor() -> None:
    """Oracle 20."""
    assert descriptors(LAYERS, CACHED) == 5
    assert descriptors("ACEBD", CACHED) == 2


@given(st.lists(st.integers(0, 20), unique=True), st.sets(st.integers(0, 20)))
def test_a_descriptor_for_each_change(order: list[int], cached: set[int]) -> None:
    packed = sorted(order, key=lambda item: item not in cached)
    assert descriptors(packed, cached) == len({item in cached for item in order})
    assert descriptors(order, cached) == bool(order) + sum((a in cached) != (b in cached) for a, b in pairwise(order))
