"""Sets of parameters: where their parts lie, and which tiles have which bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.tiled.compiler.parameters import ParameterSets, SetKey

KEY = SetKey(3, 0, "layer")


def some(count: int, value: int) -> np.ndarray:
    return np.full(count, value, np.uint8)


def test_parts_follow_one_another_in_whole_rows() -> None:
    sets = ParameterSets(row_bytes=16)
    assert sets.keep(KEY, 0b11, "weights", lambda: some(20, 1), 16) == 0
    assert sets.keep(KEY, 0b11, "parameters", lambda: some(16, 2), 16) == 32
    assert (sets.size_bytes(KEY), sets.tiles(KEY), sets.keys()) == (48, 0b11, [KEY])
    [(_, data)] = sets.variants(KEY)
    np.testing.assert_array_equal(data, np.repeat([1, 0, 2], [20, 12, 16]))


def test_parts_share_rows_that_are_larger_than_they_need() -> None:
    """Of two rows of 64 bytes a set that begins at multiples of 16 leaves the last 32 bytes to another one."""
    sets = ParameterSets(row_bytes=64)
    assert sets.keep(KEY, 1, "weights", lambda: some(20, 1), 8) == 0
    assert sets.keep(KEY, 1, "parameters", lambda: some(50, 2), 16) == 32
    assert (sets.size_bytes(KEY), sets.rows_bytes(KEY)) == (96, 128)
    assert (sets.place(KEY, 3), sets.place(KEY, 64)) == (16, 64)
    [(_, data)] = sets.variants(KEY)
    np.testing.assert_array_equal(data, np.repeat([1, 0, 2, 0], [20, 12, 50, 14]))


def test_what_is_there_is_not_made_again() -> None:
    sets = ParameterSets(row_bytes=16)
    sets.keep(KEY, 1, "weights", lambda: some(16, 1), 16)
    assert sets.keep(KEY, 1, "weights", lambda: pytest.fail("made twice"), 16) == 0


def test_tiles_with_other_bytes_have_them_at_the_same_places() -> None:
    sets = ParameterSets(row_bytes=16)
    for tile, size in enumerate((32, 16)):
        places = [sets.keep(KEY, 1 << tile, part, lambda size=size: some(size, size), 16) for part in ("a", "b")]  # type: ignore[misc]
        assert places == [0, 32]
    assert sets.tiles(KEY) == 0b11
    (first, _), (second, data) = sets.variants(KEY)
    assert (first, second) == (0b01, 0b10)
    np.testing.assert_array_equal(data, np.repeat([16, 0, 16, 0], 16))


def test_the_longest_comes_first() -> None:
    sets = ParameterSets(row_bytes=16)
    sets.keep(KEY, 1, "weights", lambda: some(16, 1), 16)
    with pytest.raises(AssertionError, match="after only 16"):
        sets.keep(KEY, 2, "weights", lambda: some(17, 1), 16)
