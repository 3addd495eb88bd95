"""Places in the unified buffer."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tilesim.systolic.compiler.allocation import Lifetime, allocate, in_use

LIVES = st.lists(
    st.builds(lambda size, first, more: Lifetime(size, first, first + more), *[st.integers(0, 9)] * 3), max_size=12
)


def test_what_does_not_live_at_once_shares_a_place() -> None:
    assert allocate([Lifetime(10, 0, 1), Lifetime(10, 2, 3), Lifetime(5, 1, 2)], 15) == [0, 0, 10]


def test_there_is_none_without_room() -> None:
    assert allocate([Lifetime(10, 0, 1), Lifetime(6, 1, 3)], 15) is None
    assert allocate([], 0) == []


def test_bytes_in_use_are_those_of_each_turn() -> None:
    assert in_use([Lifetime(10, 0, 1), Lifetime(6, 1, 3)]).tolist() == [10, 16, 6, 6]


@given(LIVES, st.integers(0, 60))
def test_nothing_overlaps_what_lives_at_the_same_time(lives: list[Lifetime], capacity: int) -> None:
    found = allocate(lives, capacity)
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
