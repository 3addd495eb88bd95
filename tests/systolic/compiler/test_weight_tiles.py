"""Weights in tiles: every product of the windows and the tiles is the layer's own sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.systolic.compiled import chip
from tilesim.systolic.compiler.weight_tiles import Tiling, cuts, tiles, tiling


def test_three_hundred_inputs_of_256_rows_are_portions_of_256_and_44() -> None:
    """Source: WO 2016/186801, Fig. 6."""
    cut = tiling((10, 1, 1, 300), 1, chip("tpu-v1"))
    [pack] = cut.packs()
    assert [(each.first, each.count) for each in cut.portions(pack)] == [(0, 256), (256, 44)]


@pytest.mark.parametrize(("outputs", "counts"), [(1, [1]), (256, [256]), (257, [256, 1]), (600, [256, 256, 88])])
def test_outputs_are_made_in_blocks_of_columns(outputs: int, counts: list[int]) -> None:
    cut = tiling((outputs, 1, 1, 5), 1, chip("tpu-v1"))
    [pack] = cut.packs()
    assert [count for _, count in cut.blocks(pack)] == counts
    assert cut.tiles == len(counts)


def test_a_matrix_of_600_by_600_takes_nine_tiles_of_256() -> None:
    assert tiling((600, 1, 1, 600), 1, chip("tpu-v1")).tiles == 9


@pytest.mark.parametrize(
    ("channels", "together", "count"),
    [(3, 3, 1), (28, 28, 1), (32, 32, 2), (256, 256, 9), (96, 96, 4)],
)
def test_as_many_channels_side_by_side_as_need_the_fewest_tiles(channels: int, together: int, count: int) -> None:
    """3 by 3 windows on 256 rows: 28 channels have 252 elements."""
    cut = tiling((channels, 3, 3, 1), channels, chip("tpu-v1", {"value_loaders.feed": "window"}))
    assert (cut.together, cut.tiles) == (together, count)


def test_channels_of_one_kernel_position_side_by_side_take_a_tile_each_position() -> None:
    cut = tiling((8, 3, 3, 40), 1, chip("systolic-32", {"value_loaders.feed": "channels"}))
    [pack] = cut.packs()
    assert cut.tiles == 9 * 2
    assert [each.place for each in cut.portions(pack)] == [place for place in range(9) for _ in range(2)]


LAYERS = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
ARRAYS = st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from(["window", "channels"]))


@given(LAYERS, ARRAYS, st.integers(1, 4))
def test_tiles_times_portions_of_windows_add_up_to_what_the_layer_says(
    layer: tuple[int, ...], array: tuple[int, int, str], together: int
) -> None:
    groups, each, height, width, own = layer
    inputs, outputs, feed = array
    rng = np.random.default_rng(0)
    weights = rng.integers(-128, 128, (groups * each, height, width, own)).astype(np.int8)
    together = min(groups, together)
    cut = Tiling(weights.shape, groups, together, inputs, outputs, feed)
    stored = tiles(cut, weights, 7).view(np.int8).reshape(-1, inputs, outputs).astype(np.int64) - 7
    window = rng.integers(-128, 128, (height * width, groups * own))
    found, number = np.zeros(groups * each, np.int64), 0
    for pack in cut.packs():
        elements = window[:, pack.channel : pack.channel + pack.channels]
        for first, columns in cut.blocks(pack):
            assert columns <= outputs
            for portion in cut.portions(pack):
                vector = (elements if portion.place < 0 else elements[portion.place]).reshape(-1)
                part = vector[portion.first : portion.first + portion.count]
                assert 1 <= len(part) <= inputs
                start = pack.output + first
                found[start : start + columns] += (part @ stored[number, : len(part)])[:columns]
                number += 1
    assert number == cut.tiles == len(stored)
    spread = window.reshape(height * width, groups, own).transpose(1, 0, 2).reshape(groups, -1)
    own_weights = weights.astype(np.int64).reshape(groups, each, -1) - 7
    np.testing.assert_array_equal(found, np.einsum("gk,gok->go", spread, own_weights).reshape(-1))


@given(st.integers(1, 100), st.integers(1, 20))
def test_cuts_are_side_by_side_and_none_is_too_large(count: int, most: int) -> None:
    found = cuts(count, most)
    assert [place for first, number in found for place in range(first, first + number)] == list(range(count))
    assert max(number for _, number in found) <= most
