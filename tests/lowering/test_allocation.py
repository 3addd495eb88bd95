"""Addresses for lifetimes."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.lowering.allocation import DoesNotFit, Lifetime, allocate, allocate_by_orders, in_use

lifetimes = st.lists(
    st.builds(
        lambda size, first, length: Lifetime(size, first, first + length),
        st.integers(1, 64),
        st.integers(0, 9),
        st.integers(0, 4),
    ),
    max_size=12,
)


LIVES = st.lists(
    st.builds(lambda size, first, more: Lifetime(size, first, first + more), *[st.integers(0, 9)] * 3), max_size=12
)


@given(lifetimes, st.sampled_from([1, 4, 16]))
def test_what_lives_at_once_never_overlaps(items: list[Lifetime], alignment: int) -> None:
    places = allocate(items, 4096, alignment)
    assert all(place % alignment == 0 and place + item.size <= 4096 for place, item in zip(places, items, strict=True))
    for k, (a, at) in enumerate(zip(items, places, strict=True)):
        for b, other in list(zip(items, places, strict=True))[:k]:
            assert not a.meets(b) or at + a.size <= other or other + b.size <= at


def test_space_is_used_again_when_its_owner_is_gone() -> None:
    assert allocate([Lifetime(8, 0, 1, "a"), Lifetime(8, 2, 3, "b")], 8, 4) == [0, 0]


def test_what_finds_no_place_goes_first_in_another_order() -> None:
    """The largest first, c comes to 0 and b to 8, and a, which meets both, finds 2 bytes between them."""
    items = [Lifetime(3, 2, 4, "a"), Lifetime(8, 1, 2, "b"), Lifetime(6, 3, 5, "c"), Lifetime(8, 0, 1, "d")]
    assert allocate(items, 16, 1) == [0, 8, 3, 0]


def test_what_finds_no_place_is_named_with_the_largest_gap() -> None:
    with pytest.raises(DoesNotFit) as caught:
        allocate([Lifetime(8, 0, 1, "a"), Lifetime(7, 1, 2, "b")], 12, 4)
    assert (caught.value.item.name, caught.value.free) == ("b", 4)


def test_what_does_not_live_at_once_shares_a_place() -> None:
    assert allocate_by_orders([Lifetime(10, 0, 1), Lifetime(10, 2, 3), Lifetime(5, 1, 2)], 15) == [0, 0, 10]


def test_there_is_none_without_room() -> None:
    assert allocate_by_orders([Lifetime(10, 0, 1), Lifetime(6, 1, 3)], 15) is None
    assert allocate_by_orders([], 0) == []


def test_bytes_in_use_are_those_of_each_turn() -> None:
    assert in_use([Lifetime(10, 0, 1), Lifetime(6, 1, 3)]).tolist() == [10, 16, 6, 6]


@given(LIVES, st.integers(0, 60))
def test_in_no_order_overlaps_what_lives_at_the_same_time(lives: list[Lifetime], capacity: int) -> None:
    found = allocate_by_orders(lives, capacity)
    most = int(in_use(lives).max(initial=0))
    if found is None:
        assert capacity < sum(life.size for life in lives)
        return
    assert capacity >= most
    placed = list(zip(lives, found, strict=True))
    assert all(address + life.size <= capacity for life, address in placed)
    for (a, at), (b, there) in combinations(placed, 2):
        if a.first <= b.last and b.first <= a.last:
            assert at + a.size <= there or there + b.size <= at
