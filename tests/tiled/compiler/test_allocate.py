"""Addresses for lifetimes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.compiler.allocate import DoesNotFit, Lifetime, allocate

lifetimes = st.lists(
    st.builds(
        lambda size, first, length: Lifetime("t", size, first, first + length),
        st.integers(1, 64),
        st.integers(0, 9),
        st.integers(0, 4),
    ),
    max_size=12,
)


@given(lifetimes, st.sampled_from([1, 4, 16]))
def test_what_lives_at_once_never_overlaps(items: list[Lifetime], alignment: int) -> None:
    places = allocate(items, 4096, alignment)
    assert all(place % alignment == 0 and place + item.size <= 4096 for place, item in zip(places, items, strict=True))
    for k, (a, at) in enumerate(zip(items, places, strict=True)):
        for b, other in list(zip(items, places, strict=True))[:k]:
            assert not a.meets(b) or at + a.size <= other or other + b.size <= at


def test_space_is_used_again_when_its_owner_is_gone() -> None:
    assert allocate([Lifetime("a", 8, 0, 1), Lifetime("b", 8, 2, 3)], 8, 4) == [0, 0]


def test_what_finds_no_place_goes_first_in_another_order() -> None:
    """The largest first, c comes to 0 and b to 8, and a, which meets both, finds 2 bytes between them."""
    items = [Lifetime("a", 3, 2, 4), Lifetime("b", 8, 1, 2), Lifetime("c", 6, 3, 5), Lifetime("d", 8, 0, 1)]
    assert allocate(items, 16, 1) == [0, 8, 3, 0]


def test_what_finds_no_place_is_named_with_the_largest_gap() -> None:
    with pytest.raises(DoesNotFit) as caught:
        allocate([Lifetime("a", 8, 0, 1), Lifetime("b", 7, 1, 2)], 12, 4)
    assert (caught.value.item.name, caught.value.free) == ("b", 4)
