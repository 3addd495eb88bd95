"""Boxes, strides and spans of loop nests, against the addresses themselves."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiled.units.bench import at, nest
from tilesim.tiled.isa.model.fields import Alternate
from tilesim.tiled.isa.model.loops import addresses
from tilesim.tiled.units.tensor.windows import GroupGrid, Moved, StridedView, apart, boxes, contiguous, extent, parted

BOUNDS = st.lists(st.integers(1, 4), max_size=4)
STRIDES = st.integers(-9, 9)


@given(BOUNDS, st.data())
def test_boxes_are_the_iterations_in_order(bounds: list[int], data: st.DataObject) -> None:
    points = list(product(*(range(bound) for bound in bounds)))
    first = data.draw(st.integers(0, len(points) - 1))
    end = data.draw(st.integers(first + 1, len(points)))
    found = [point for box in boxes(bounds, first, end) for point in product(*(range(*sides) for sides in box))]
    assert found == points[first:end]


def test_the_whole_of_a_nest_is_one_box() -> None:
    assert list(boxes((2, 3), 0, 6)) == [((0, 2), (0, 3))]
    assert list(boxes((2, 3), 1, 6)) == [((0, 1), (1, 3)), ((1, 2), (0, 3))]


@given(BOUNDS, st.lists(STRIDES, min_size=4, max_size=4), st.integers(1, 4))
def test_extent_apart_and_contiguous_are_about_the_bytes_touched(
    bounds: list[int], strides: list[int], width: int
) -> None:
    steps = strides[: len(bounds)]
    addresses = [sum(k * s for k, s in zip(point, steps, strict=True)) for point in product(*map(range, bounds))]
    touched = [address + k for address in addresses for k in range(width)]
    assert extent(bounds, steps, width) == (min(touched), max(touched) + 1)
    if apart(bounds, steps, width):
        assert len(set(touched)) == len(touched)
    assert contiguous(bounds, steps, width) == (touched == list(range(len(touched))))


def test_nested_strides_are_apart() -> None:
    assert apart((3, 2, 5), (-40, 20, 4), 4)
    assert not apart((3, 2, 5), (-40, 16, 4), 4)
    assert apart((1, 5), (0, 4), 4)


def test_a_window_shows_what_a_stream_addresses() -> None:
    memory = np.random.default_rng(0).integers(0, 256, (2, 200)).astype(np.uint8)
    over, reference = nest(y=3, x=4), at(50, y=-20, x=6)
    found = StridedView(50, (3, 4, 2), (-20, 6, 1), np.dtype(np.uint8)).view(memory)
    expected = [memory[:, address : address + 2] for address in addresses(over, reference).tolist()]
    assert np.array_equal(found.reshape(2, 12, 2).swapaxes(0, 1), expected)
    found[:, 0, 0] = 99
    assert (memory[:, 50:52] == 99).all()


@pytest.mark.parametrize("dtype", [None, np.dtype(np.float32)])
def test_what_several_blocks_have_is_read_as_one(dtype: np.dtype[np.generic] | None) -> None:
    memory = np.random.default_rng(0).integers(0, 256, (3, 200)).astype(np.uint8)
    window = StridedView(50, (3, 4), (-20, 6), np.dtype(np.uint8))
    expected = window.view(memory)
    for order, cut in (([0, 1, 2], 3), ([0, 1, 2], 1), ([2, 0, 1], 1)):
        whole = memory[order]
        blocks = [block for block in (whole[:cut], whole[cut:]) if len(block)]
        found = window.read(blocks, dtype)
        assert found.dtype == (dtype or np.uint8)
        assert np.array_equal(found, expected[order])
        assert [view.shape for _, view in window.views(blocks)] == [(len(block), 3, 4) for block in blocks]


@pytest.mark.parametrize(
    ("inner", "strides", "words"), [(4, (7, 1), "u4"), (2, (4, 1), "u2"), (4, (4, 1), ""), (3, (8, 1), "")]
)
def test_few_bytes_that_lie_apart_are_read_in_words(inner: int, strides: tuple[int, int], words: str) -> None:
    memory = np.random.default_rng(0).integers(0, 256, (3, 100)).astype(np.uint8)
    window = StridedView(5, (6, inner), strides, np.dtype(np.int8))
    assert (window.in_words is None) == (not words)
    assert window.in_words is None or window.in_words.dtype == np.dtype(words)
    for blocks in ([memory], [memory[:2], memory[2:]]):
        assert np.array_equal(window.read(blocks, np.dtype(np.float32)), window.view(memory).astype(np.float32))


@pytest.mark.parametrize(("counts", "samples", "parts"), [
    ([5], 2, [[2], [2], [1]]),
    ([1, 2, 3], 3, [[1, 2], [3]]),
    ([4, 1, 1], 3, [[3], [1, 1, 1]]),
    ([2, 2], 0, [[1], [1], [1], [1]]),
    ([1, 1], 9, [[1, 1]]),
])  # fmt: skip
def test_blocks_are_parted_where_samples_are_many(counts: list[int], samples: int, parts: list[list[int]]) -> None:
    rows = np.arange(sum(counts))[:, None]
    found = [*parted(np.split(rows, np.cumsum(counts)[:-1]), samples)]
    assert [[len(block) for block in part] for part in found] == parts
    assert np.array_equal(np.concatenate([block for part in found for block in part]), rows)


def grid(alternate_loop_bound: int = 3) -> GroupGrid:
    """Rows y and x; columns zb, of 8 lanes."""
    loops = nest(y=2, zb=alternate_loop_bound, x=4).loops
    steps = nest(k=5).loops
    return GroupGrid.of(loops, steps, 8, [Moved.of(at(0, zb=64, k=8), loops, steps)])


def test_columns_are_what_moves_the_weights() -> None:
    assert (grid().row_bounds, grid().column_bounds, grid().columns) == ((2, 4), (3,), 24)
    box = ((1, 2), (1, 3), (0, 4))
    assert (grid().rows_in(box), grid().blocks_in(box), grid().columns_in(box)) == ((1, 4), (2,), (8, 24))


@pytest.mark.parametrize(
    ("blocks", "alternate", "columns"),
    [(3, None, 24), (3, Alternate("zb", 2), 18), (3, Alternate("x", 2), None), (1, Alternate("zb", 2), 2)],
)
def test_an_alternate_limit_leaves_the_last_columns_out(
    blocks: int, alternate: Alternate | None, columns: int | None
) -> None:
    assert grid(blocks).columns_within(alternate) == columns


def test_spans_have_the_steps_where_those_move() -> None:
    moved = Moved(100, (-10, 0, 3), (7,))
    assert grid().span(moved, True, 4) == (90, 100 + 9 + 28 + 4)
    assert grid().span(moved, False, 4) == (90, 100 + 9 + 4)
    assert moved.first(((1, 2), (2, 3), (2, 4))) == 100 - 10 + 6
