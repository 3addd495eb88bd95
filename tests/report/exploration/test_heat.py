"""A map of two keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.report.exploration.heat import MOST_ACROSS, SUMMARIES, How, heat_map, labels
from tilesim.report.exploration.points import MISSING, VariedKey


def key(codes: list[int], values: int) -> VariedKey:
    return VariedKey("key", tuple(range(values)), np.array(codes, np.int64))


POINT = st.tuples(st.integers(-1, 3), st.integers(-1, 2), st.one_of(st.integers(0, 9), st.just(np.nan)), st.booleans())


@given(st.lists(POINT, max_size=60), st.sampled_from([*SUMMARIES]))
def test_a_cell_sums_up_the_points_that_share_its_keys(
    points: list[tuple[int, int, float, bool]], how: How
) -> None:  # fmt: skip
    across, up, values, of = (list(column) for column in zip(*points, strict=True)) if points else ([], [], [], [])
    found = heat_map(key(across, 4), key(up, 3), np.array(values, np.float64), np.array(of, np.bool_), how)
    for row, column in np.ndindex(3, 4):
        cell = [value for x, y, value, inside in points if (x, y) == (column, row) and inside]
        ran = [value for value in cell if not np.isnan(value)]
        assert found.points[row, column] == len(cell)
        assert found.refused[row, column] == bool(cell and not ran)
        expected = SUMMARIES[how](np.array(ran)) if ran else np.nan
        np.testing.assert_equal(found.values[row, column], expected)


def test_values_side_by_side_share_a_column_where_there_are_many() -> None:
    many = key([0, 1, 2, 99, MISSING], 100)
    found = heat_map(many, key([0] * 5, 1), np.arange(5.0), np.ones(5, np.bool_), "highest")
    assert found.values.shape == (1, MOST_ACROSS)
    assert found.values[0, [0, -1]].tolist() == [2, 3]
    named = labels(many, MOST_ACROSS)
    assert (named[0], named[-1], len(named)) == ("0 … 2", "98 … 99", MOST_ACROSS)


@pytest.mark.parametrize(("values", "most", "words"), [(3, 5, ["0", "1", "2"]), (4, 2, ["0 … 1", "2 … 3"])])
def test_columns_are_called_after_their_values(values: int, most: int, words: list[str]) -> None:
    assert labels(key([], values), most) == words
