"""The runs that copies are cut into."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.lowering.copy_runs import CopyRun, copy_runs
from tilesim.network.readers.tflite_data_movement import nearest


def test_runs_by_hand() -> None:
    assert copy_runs(5, [0, 0, 1, 1, 2, 2]) == [CopyRun(5, 3, 2, 0, 1)]
    assert copy_runs(0, [3, 4, 4, 5, 5, 6]) == [CopyRun(0, 1, 1, 3, 0), CopyRun(1, 2, 2, 4, 1), CopyRun(5, 1, 1, 6, 0)]
    assert copy_runs(0, [0, 2, 4, 5]) == [CopyRun(0, 3, 1, 0, 2), CopyRun(3, 1, 1, 5, 0)]


@given(st.integers(1, 30), st.integers(1, 60), st.booleans(), st.booleans(), st.data())
def test_runs_copy_what_they_are_to_copy(old: int, new: int, align: bool, centred: bool, data: st.DataObject) -> None:
    sources = nearest(old, new, align=align, centred=centred)
    start = data.draw(st.integers(0, new - 1))
    mine = sources[start : data.draw(st.integers(start + 1, new))]
    copied = [
        (run.start + i * run.times + k, run.first + i * run.step)
        for run in copy_runs(start, mine)
        for i in range(run.count)
        for k in range(run.times)
    ]
    assert copied == list(enumerate(mine, start))


def test_whole_factors_are_one_run() -> None:
    for factor in (1, 2, 3, 8):
        assert len(copy_runs(0, np.repeat(np.arange(10), factor).tolist())) == 1
