"""The byte filter against a NumPy mask."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.isa.model.fields import ByteFilter
from tilesim.tiled.units.ring.ring_consumer import ByteFilterUnit

ROW = 8
FILTERS = st.builds(ByteFilter, st.integers(1, 12), st.integers(0, 40), st.integers(1, 30), st.integers(0, 30))


def places(kept: ByteFilter) -> list[int]:
    """Where in the stream the kept bytes are."""
    past = [byte - kept.first for byte in range(kept.rows * ROW)]
    return [byte for byte, at in enumerate(past) if at >= 0 and at % (kept.keep + kept.gap) < kept.keep]


@given(FILTERS)
def test_kept_bytes_are_counted_without_a_walk(kept: ByteFilter) -> None:
    for end in range(kept.rows * ROW + 1):
        assert kept.kept(end) == sum(place < end for place in places(kept))


@given(FILTERS.filter(places), st.data())
def test_what_is_kept_is_packed_as_soon_as_its_last_byte_has_come(kept: ByteFilter, data: st.DataObject) -> None:
    found = places(kept)
    rows = data.draw(st.integers(1, -(-len(found) // ROW)))
    stream = np.random.default_rng(3).integers(1, 256, (2, kept.rows, ROW), np.uint8)
    packer, taken, packed, cycles = ByteFilterUnit(kept, rows, 2, ROW), 0, [], 0
    for step in kept.steps(rows, ROW):
        cycles += 1
        if step.takes:
            packer.take(stream[:, taken])
            taken += 1
        if step.completes is not None:
            assert step.completes == len(packed)
            packed.append(packer.packed())
            last = found[min(len(packed) * ROW, len(found)) - 1]
            assert taken - 1 == last // ROW
    expected = np.zeros((2, rows * ROW), np.uint8)
    flat = stream.reshape(2, -1)[:, found][:, : rows * ROW]
    expected[:, : flat.shape[1]] = flat
    assert np.array_equal(np.concatenate(packed, axis=1), expected)
    assert taken == kept.rows
    # A step of its own only for a last row that is not full and ends where the row before it does.
    assert cycles - taken in (0, 1)
    assert cycles == taken or len(found) < rows * ROW
