import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.ragged import ranges


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6))))
def test_each_range_begins_with_its_first_and_has_so_many(rows: list[tuple[int, int]]) -> None:
    first, counts = np.array(rows, np.int64).reshape(-1, 2).T
    assert ranges(first, counts).tolist() == [number for low, count in rows for number in range(low, low + count)]


@given(st.lists(st.integers(0, 6)))
def test_all_may_begin_with_the_same(counts: list[int]) -> None:
    assert ranges(3, np.array(counts, np.int64)).tolist() == [3 + k for count in counts for k in range(count)]
