"""Parameters in data memory."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.caching.packing import descriptors

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
