"""Boxes of tensors as loops, and images that one instruction can work on together."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.systolic.compiler.boxes import Strided, Together, broadcast, nests, strides_of, together
from tilesim.systolic.isa.model.instructions import Nest


def places(nest: Nest) -> list[int]:
    """Every address of a nest, in order."""
    counters = product(*(range(count) for count in nest.counts))
    starts = [nest.address + sum(k * s for k, s in zip(counts, nest.strides, strict=True)) for counts in counters]
    return [start + k for start in starts for k in range(nest.bytes)]


def whole(address: int, shape: tuple[int, ...], element_bytes: int = 1) -> Strided:
    """A tensor that lies there contiguous."""
    return Strided(address, strides_of(shape, element_bytes), element_bytes)


def test_a_whole_tensor_is_one_run_of_bytes() -> None:
    assert nests((1, 4, 5, 6), whole(100, (1, 4, 5, 6))) == [Nest(100, 120)]


def test_rows_stay_what_is_innermost() -> None:
    assert nests((1, 4, 5, 6), whole(100, (1, 4, 5, 6)), rows=True) == [Nest(100, 6, (20,), (6,))]
    assert nests((3, 1), whole(0, (3, 1)), rows=True) == [Nest(0, 1, (3,), (1,))]


def test_what_is_repeated_has_a_stride_of_none() -> None:
    a, b = nests((2, 3, 4), whole(0, (2, 3, 4)), broadcast(50, (4,), (2, 3, 4)))
    assert (a, b) == (Nest(0, 4, (6,), (4,)), Nest(50, 4, (6,), (0,)))


SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=5)


@given(SIZES, st.data(), st.booleans(), st.sampled_from([1, 2]))
def test_every_element_is_there_in_order(size: list[int], data: Any, rows: bool, element: int) -> None:
    """A box of a larger tensor, and the same box of a tensor that is repeated along some axes."""
    more = [data.draw(st.integers(0, 2)) for _ in size]
    shape = [count + extra for count, extra in zip(size, more, strict=True)]
    some = [data.draw(st.sampled_from([1, count])) for count in size]
    outer, repeated = whole(10, shape, element), broadcast(10, some, size, element)
    if repeated.strides[-1] == 0 and size[-1] > 1:
        rows = False
    for operand, found in zip((outer, repeated), nests(size, outer, repeated, rows=rows), strict=True):
        assert places(found) == expected(operand, size, element)


def expected(operand: Strided, size: list[int], element: int) -> list[int]:
    starts = (operand.address + int(np.dot(index, operand.strides)) for index in np.ndindex(*size))
    return [start + k for start in starts for k in range(element)]


def test_images_equally_far_apart_go_together() -> None:
    assert list(together((0, 10, 20, 25, 30), (7, 7, 7, 7, 7))) == [Together(0, 3, (10, 0)), Together(3, 2, (5, 0))]


def test_some_must_lie_side_by_side() -> None:
    assert [images.count for images in together((0, 10, 20), (0, 8, 16), pitches={1: 8})] == [3]
    assert [images.count for images in together((0, 10, 20), (0, 9, 18), pitches={1: 8})] == [1, 1, 1]


def test_backwards_is_no_order() -> None:
    assert [images.count for images in together((20, 10, 0))] == [1, 1, 1]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_every_image_is_where_its_group_says(addresses: list[tuple[int, int]]) -> None:
    operands = tuple(zip(*addresses, strict=True))
    places = [
        tuple(own[images.first] + k * pitch for own, pitch in zip(operands, images.pitches, strict=True))
        for images in together(*operands)
        for k in range(images.count)
    ]
    assert places == addresses
