"""What must have been sent for what instructions take."""

from __future__ import annotations

from math import ceil

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.dataflow.senders import ALL, COLUMNS, Senders

TILES = 3
FEW, SOME = st.integers(0, 2), st.integers(1, 4)
ROWS = st.tuples(FEW, FEW, FEW, FEW, FEW, FEW, st.one_of(SOME, st.just(ALL)), SOME, SOME)
ASKED = st.tuples(FEW, FEW, st.integers(0, 5))


@given(st.lists(ROWS, max_size=8), st.lists(ASKED, max_size=6))
def test_all_needs_at_once_are_those_of_each_row(
    rows: list[tuple[int, ...]], asked: list[tuple[int, int, int]]
) -> None:
    senders = Senders(np.array(rows, np.int64).reshape(-1, len(COLUMNS)), TILES)
    wanted = [
        [which, sender, its_tile, row + ceil(min(count, end - own) * taken_bytes / sent_bytes)]
        for which, (place, tile, end) in enumerate(asked)
        for taker, where, own, sender, its_tile, row, count, taken_bytes, sent_bytes in rows
        if (taker, where) == (place, tile) and own < end
    ]
    assert senders.needs(*np.array(asked, np.int64).reshape(-1, 3).T).tolist() == wanted
    for which, (place, tile, end) in enumerate(asked):
        assert senders.needs_of(place, tile, end) == [need for k, *need in wanted if k == which]
