"""Images that one instruction can work on together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilesim.systolic.compiler.images import Together, together


def test_images_equally_far_apart_go_together() -> None:
    assert list(together((0, 10, 20, 25, 30), (7, 7, 7, 7, 7))) == [Together(0, 3, (10, 0)), Together(3, 2, (5, 0))]


def test_some_must_lie_side_by_side() -> None:
    assert [each.count for each in together((0, 10, 20), (0, 8, 16), pitches={1: 8})] == [3]
    assert [each.count for each in together((0, 10, 20), (0, 9, 18), pitches={1: 8})] == [1, 1, 1]


def test_backwards_is_no_order() -> None:
    assert [each.count for each in together((20, 10, 0))] == [1, 1, 1]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_every_image_is_where_its_group_says(addresses: list[tuple[int, int]]) -> None:
    operands = tuple(zip(*addresses, strict=True))
    found = [
        tuple(own[each.first] + k * pitch for own, pitch in zip(operands, each.pitches, strict=True))
        for each in together(*operands)
        for k in range(each.count)
    ]
    assert found == addresses
