"""The byte filter of a ring consumer: against picking the bytes out of the whole stream at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.isa.model.fields import ByteFilter
from tilesim.tiled.stepped.ring_consumer import ByteFilterUnit

ROW_BYTES = 8


@given(st.integers(1, 5), st.integers(0, 12), st.integers(1, 20), st.integers(0, 20), st.integers(0, 2))
def test_it_packs_what_is_kept(rows: int, first: int, keep: int, gap: int, dropped: int) -> None:
    kept = ByteFilter(rows, first, keep, gap)
    stream = np.arange(1, rows * ROW_BYTES + 1, dtype=np.uint8)
    picked = np.array([stream[k] for k in range(first, len(stream)) if (k - first) % (keep + gap) < keep], np.uint8)
    wanted = max(0, -(-len(picked) // ROW_BYTES) - dropped)
    packer = ByteFilterUnit(kept, wanted, ROW_BYTES)
    found = []
    for k in range(rows):
        completes = packer.completes()
        packer.take(stream[k * ROW_BYTES : (k + 1) * ROW_BYTES])
        assert completes == (packer.owes > 0)
        assert packer.owes <= 2
        found += [packer.fetch() for _ in range(packer.owes)]
    assert packer.rows_to_take == 0
    expected = np.zeros(wanted * ROW_BYTES, np.uint8)
    expected[: len(picked)] = picked[: len(expected)]
    assert np.array_equal(np.concatenate([np.zeros(0, np.uint8), *found]), expected)
