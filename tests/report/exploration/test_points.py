"""The points of a sweep as columns."""

from __future__ import annotations

import numpy as np

from tests.report.exploration.rows import row, rows
from tilesim.explore.point import PointOptions
from tilesim.report.exploration.points import MEASURES, MISSING, measured, varied_keys


def test_keys_in_which_rows_differ_come_with_their_values_in_order() -> None:
    found = [row(grid=grid, options=PointOptions(cache=cache)) for grid in ((4, 1), (1, 1)) for cache in (True, False)]
    first, second = varied_keys(found)
    assert (first.key, first.words, first.codes.tolist()) == ("grid.rows", ["1", "4"], [1, 1, 0, 0])
    assert (second.key, second.words, second.codes.tolist()) == ("cache", ["off", "on"], [1, 0, 1, 0])


def test_sizes_are_in_words_and_a_row_may_lack_a_key() -> None:
    found = [row(chip={"wide_memory.size_bytes": size}) for size in (65536, 1024)] + [row()]
    del found[2]["chip"]["wide_memory.size_bytes"]
    [key] = varied_keys(found)
    assert key.words == ["1 KiB", "64 KiB"]
    assert key.codes.tolist() == [1, 0, MISSING]


def test_a_measure_of_a_row_that_did_not_run_is_not_a_number() -> None:
    found = rows(50)
    for measure in MEASURES:
        assert [bool(np.isnan(value)) for value in measured(found, measure)] == [r["measures"] is None for r in found]


def test_the_rows_of_the_tests_add_up() -> None:
    for each in rows(700):
        if measures := each["measures"]:
            assert np.isclose(sum(measures["breakdown"].values()), measures["cycles"], rtol=1e-12)
