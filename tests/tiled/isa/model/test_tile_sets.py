"""Bitmaps as rows."""

import pytest

from tilesim.tiled.isa.model.tile_sets import tile_rows


@pytest.mark.parametrize("tiles", [1, 8, 9, 70])
def test_a_row_says_of_each_tile_whether_it_is_in_the_bitmap(tiles: int) -> None:
    bitmaps = [0, 1, (1 << tiles) - 1, 0x2A5A5A5A5A5A5A5A5 % (1 << tiles), 1 << tiles]
    rows = tile_rows(bitmaps, tiles)
    assert rows.tolist() == [[bool(bitmap >> tile & 1) for tile in range(tiles)] for bitmap in bitmaps]
    assert tile_rows([], tiles).shape == (0, tiles)
