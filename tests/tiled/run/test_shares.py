"""What tiles did for layers, as rows."""

from __future__ import annotations

from collections import Counter

from tilesim.sim.core.port import NEVER
from tilesim.tiled.run.shares import shares_of
from tilesim.tiled.units.shares import LayerShare, RunPart


def test_shares_of_tiles_are_rows_and_layers_last_from_the_first_tile_to_the_last() -> None:
    shares = [
        {0: LayerShare(5, 9, Counter(busy=3, fifo=1), [("flag", range(2, 5))]), 2: LayerShare(20, 30)},
        {0: LayerShare(7, 12, Counter(busy=2), [("fifo", range(2, 4)), ("flag", range(4, 7))])},
        {-1: LayerShare(40, 50, Counter(busy=10))},
    ]
    found = shares_of(RunPart(2, shares), 3)
    assert (found.start, found.causes) == (2, ["busy", "fifo", "flag"])
    assert found.worked.tolist() == [[0, 0, 5, 9], [0, 2, 20, 30], [1, 0, 7, 12], [2, -1, 40, 50]]
    assert found.spent.tolist() == [[5, 1, 0], [0, 0, 0], [0, 0, 0], [10, 0, 0]]
    assert found.waits.tolist() == [[0, 0, 2, 2, 5], [1, 0, 1, 2, 4], [1, 0, 2, 4, 7]]
    assert found.began.tolist() == [5, NEVER, 20, 40]
    assert found.ended.tolist() == [12, 0, 30, 50]
    assert found.tiles.tolist() == [2, 0, 1, 1]


def test_of_a_part_in_which_nobody_worked_there_is_nothing() -> None:
    found = shares_of(RunPart(0, [{}, {}]), 1)
    assert found.spent.shape == (2, 0)
    assert (len(found.worked), len(found.waits), found.tiles.tolist()) == (0, 0, [0, 0])
