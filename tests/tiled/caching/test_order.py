"""Who is asked first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.caching.sets import shared
from tilesim.tiled.caching.order import order_of
from tilesim.tiled.caching.plan import ParameterSet

NAMES = [(network, layer, chunk) for network in range(3) for layer in range(2) for chunk in range(2)]
SETS = [shared(1, 1, *name) for name in NAMES]


@pytest.mark.parametrize(
    ("networks", "layers", "expected"),
    [
        ([], [], [*range(12)]),
        ([2], [], [8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7]),
        ([2, 1], [], [8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]),
        ([], [(1, 1), (0, 1)], [6, 7, 2, 3, 0, 1, 4, 5, 8, 9, 10, 11]),
        ([2], [(1, 1)], [6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5]),
        ([2, 0, 2], [(9, 9)], [8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_named_layers_then_named_networks_then_the_rest(
    networks: list[int], layers: list[tuple[int, int]], expected: list[int]
) -> None:
    assert list(order_of(SETS, networks, layers)) == expected


@given(st.permutations(SETS))
def test_the_order_of_the_list_does_not_count(sets: list[ParameterSet]) -> None:
    assert [sets[k] for k in order_of(sets, [1])] == [SETS[k] for k in order_of(SETS, [1])]


def test_in_a_network_those_come_first_whose_streaming_computing_hides_least() -> None:
    """Cycles for each byte; other networks and named layers don't wait for them."""
    cycles = [40, 10, 30, 0]
    sets = [replace(shared(2, 1, network=k // 3, layer=k), issue_cycles=each) for k, each in enumerate(cycles)]
    assert order_of(sets) == (1, 2, 0, 3)
    sets[0] = replace(sets[0], bytes_per_tile=20)
    assert order_of(sets, layer_priority=[(0, 2)]) == (2, 0, 1, 3)
