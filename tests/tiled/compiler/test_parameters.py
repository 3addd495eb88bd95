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


def shared(*alike: bool) -> ParameterSets:
    """Sets of layers 3 and 4, in tiles 0 and 1 and in tile 2, of bytes that are alike or not."""
    sets = ParameterSets(row_bytes=16, shared=True)
    for layer, (tiles, same) in enumerate(zip((0b011, 0b100), (True, *alike), strict=True), 3):
        sets.keep(SetKey(layer, 0, "layer"), tiles, "weights", lambda same=same: some(20, same), 16)  # type: ignore[misc]
    return sets


def test_equal_sets_stay_where_the_first_of_them_does() -> None:
    sets, other = shared(True), SetKey(4, 0, "layer")
    assert sets.firsts == {KEY: KEY, other: KEY}
    assert sets.copies(KEY) == [KEY, other]
    assert (sets.tiles(KEY), sets.tiles(other), sets.tiles_of_copies(KEY)) == (0b011, 0b100, 0b111)
    assert (sets.alike(KEY), [tiles for tiles, _ in sets.variants(KEY)]) == ((0b111,), [0b111])


def test_other_bytes_make_another_set_and_so_do_all_where_none_are_shared() -> None:
    sets, other = shared(False), SetKey(4, 0, "layer")
    assert sets.firsts == {KEY: KEY, other: other}
    assert (sets.copies(KEY), sets.tiles_of_copies(other)) == ([KEY], 0b100)
    apart = ParameterSets(row_bytes=16)
    for key in (KEY, other):
        apart.keep(key, 1, "weights", lambda: some(20, 1), 16)
    assert apart.firsts == {KEY: KEY, other: other}


def test_sets_of_which_tiles_have_other_bytes_are_equal_only_in_the_same_tiles() -> None:
    sets, other, third = ParameterSets(row_bytes=16, shared=True), SetKey(4, 0, "layer"), SetKey(5, 0, "layer")
    for key, tiles in ((KEY, (1, 2)), (other, (1, 2)), (third, (1, 4))):
        for value, tile in enumerate(tiles):
            sets.keep(key, tile, "weights", lambda value=value: some(16, value), 16)  # type: ignore[misc]
    assert sets.firsts == {KEY: KEY, other: KEY, third: third}
    assert sets.alike(KEY) == (1, 2)
