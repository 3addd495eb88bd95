"""What borders vanish into, and the runs that copies are cut into."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.networks import Weave
from tilesim.network.operators import Convolution, MaxPool, Pad, Padding
from tilesim.network.readers.tflite_moves import nearest
from tilesim.tiled.compiler.data_movement import folded_pads
from tilesim.tiled.compiler.lower.copy import Run, copy_runs
from tilesim.tiled.compiler.windows import CopiedField

BORDER = Pad((0, 1, 2, 0), (0, 3, 0, 0), -7)


def test_a_border_vanishes_into_all_convolutions_that_read_it() -> None:
    weave = Weave()
    wide = weave.add(BORDER, weave.input(4, 4, 4), zero_point=-7)
    one, two = weave.convolution(wide, 4, padding=Padding(1, 0, 0, 0)), weave.depthwise(wide)
    folded = folded_pads(weave.network(one, two))
    assert {layer: [node.inputs[0] for node in nodes] for layer, nodes in folded.items()} == {0: [], 1: [0], 2: [0]}
    [[convolution], [depthwise]] = folded[1], folded[2]
    assert isinstance(convolution.operator, Convolution)
    assert convolution.operator.padding == Padding(2, 2, 3, 0)
    assert depthwise.operator.padding == Padding(2, 3, 4, 1)


def test_a_border_stays_where_anybody_else_needs_it() -> None:
    weave = Weave()
    wide = weave.add(BORDER, weave.input(4, 4, 4), zero_point=-7)
    read = weave.convolution(wide, 4)
    assert folded_pads(weave.network(read, wide)) == {}
    pooled = weave.add(MaxPool((2, 2), (1, 1), Padding(), (-128, 127)), wide, zero_point=-7)
    assert folded_pads(weave.network(read, pooled)) == {}
    other = Weave()
    assert folded_pads(other.network(other.convolution(other.add(BORDER, other.input(4, 4, 4, zero_point=0)), 4))) == {}


def test_runs_by_hand() -> None:
    assert copy_runs(5, [0, 0, 1, 1, 2, 2]) == [Run(5, 3, 2, 0, 1)]
    assert copy_runs(0, [3, 4, 4, 5, 5, 6]) == [Run(0, 1, 1, 3, 0), Run(1, 2, 2, 4, 1), Run(5, 1, 1, 6, 0)]
    assert copy_runs(0, [0, 2, 4, 5]) == [Run(0, 3, 1, 0, 2), Run(3, 1, 1, 5, 0)]


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
    assert CopiedField(1, 0, sources=sources).reads(range(start, start + len(mine))) == range(mine[0], mine[-1] + 1)


def test_whole_factors_are_one_run() -> None:
    for factor in (1, 2, 3, 8):
        assert len(copy_runs(0, np.repeat(np.arange(10), factor).tolist())) == 1
