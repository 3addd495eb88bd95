"""Rectangles of words in whole wide rows: each word at least once, no other, and in the same order everywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.compiler.rows import block
from tilesim.tiled.compiler.whole_rows import in_whole_rows, rows_filled
from tilesim.tiled.isa.model.loops import addresses, iterations

WORD = 4
sizes = st.integers(1, 70)
row_sizes = st.sampled_from([1, 2, 8, 16, 64])


@given(sizes, sizes, row_sizes, st.sampled_from([1, -1]))
def test_every_word_comes_and_no_other(lines: int, words: int, row_words: int, step: int) -> None:
    rectangle = block(1 << 20, lines, step * 512, words, WORD)
    whole = in_whole_rows(rectangle, row_words)
    assert iterations(whole.nest) == rows_filled(lines, words, row_words) * row_words
    assert {*addresses(whole.nest, whole.reference)} == {*addresses(rectangle.nest, rectangle.reference)}
    assert len(whole.nest.loops) <= 4, "as many as the traversal of a mesh instruction may have"


@given(sizes, sizes, row_sizes)
def test_the_kth_word_of_one_rectangle_goes_to_the_kth_of_another(lines: int, words: int, row_words: int) -> None:
    """Whatever their addresses and the distance of their lines."""
    orders = []
    for base, distance in ((0, 280), (5000, 512)):
        whole = in_whole_rows(block(base, lines, distance, words, WORD), row_words)
        at = addresses(whole.nest, whole.reference) - base
        orders.append([(int(place) // distance, int(place) % distance) for place in at])
    assert orders[0] == orders[1]


@pytest.mark.parametrize(
    ("lines", "words", "rows"),
    [
        (1, 1, 1),
        (1, 64, 1),
        (1, 65, 2),
        (7, 8, 1),  # 8 lines, one of them twice
        (14, 8, 2),
        (3, 20, 2),  # 60 words, but no 64 of as many in each line, of 3 or 4
        (5, 1, 1),  # a column is one line
        (64, 2, 2),
    ],
)
def test_rows_that_are_filled(lines: int, words: int, rows: int) -> None:
    assert rows_filled(lines, words, 64) == rows


@given(st.integers(1, 64), sizes)
def test_it_takes_at_most_twice_the_rows(lines: int, words: int) -> None:
    fewest = -(-lines * words // 64)
    assert fewest <= rows_filled(lines, words, 64) <= 2 * fewest
