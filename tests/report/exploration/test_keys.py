"""The keys of a sweep's points: networks, chips and grids too, and the two that a map shows first."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from tests.report.exploration.rows import row, rows
from tilesim.report.exploration.keys import GRID, effect, heat_axes, in_order, space_keys, telling
from tilesim.report.exploration.points import MEASURES, MISSING, VariedKey, measured


def named(keys: list[VariedKey]) -> dict[str, VariedKey]:
    return {key.key: key for key in keys}


def test_networks_and_grids_are_keys_grids_in_the_order_of_their_tiles() -> None:
    found = [row(network, grid) for network in ("b", "a") for grid in ((4, 4), (1, 2), (2, 1), (1, 1))]
    keys = named(space_keys(found))
    assert list(keys) == ["network", "grid", "grid.rows", "grid.columns"]
    assert keys["network"].values == ("a", "b")
    assert keys["grid"].values == ("1x1", "1x2", "2x1", "4x4")
    assert keys["grid"].codes.tolist() == [3, 1, 2, 0] * 2
    assert [key.key for key in telling([*keys.values()])] == ["grid"]


def test_a_row_that_lacks_the_grid_lacks_it() -> None:
    found = [row(grid=grid) for grid in ((1, 1), (2, 2), (3, 3))]
    del found[1]["chip"]["grid.rows"]
    assert named(space_keys(found))["grid"].codes.tolist() == [0, MISSING, 1]


def test_rows_come_in_the_order_of_their_keys() -> None:
    found = rows(84)
    shuffled = [found[place] for place in np.random.default_rng(1).permutation(84)]
    ordered = in_order(shuffled)
    assert ordered == in_order(found)
    names = [
        (each["network"], prod(int(each["chip"][side]) for side in GRID), each["chip"]["tile.lanes"])
        for each in ordered
    ]
    assert names == sorted(names)
    assert in_order([]) == []


def test_one_row_has_no_keys() -> None:
    assert space_keys([row()]) == []
    assert space_keys([]) == []


def test_a_map_shows_the_keys_that_change_the_latency_most_with_more_values_across() -> None:
    found = rows(7 * 4 * 4 * 3, {"kws": 13})  # grids, lanes, memories, hops
    keys = space_keys(found)
    axes = heat_axes(keys, measured(found, MEASURES[0]))
    assert axes is not None
    assert [key.key for key in axes] == ["grid", "tile.lanes"]
    assert heat_axes(keys[:1], measured(found, MEASURES[0])) is None


def test_the_effect_of_a_key_is_what_of_the_variance_goes_with_it() -> None:
    pairs = list(product(range(4), range(5)))
    first, second = (np.array(codes) for codes in zip(*pairs, strict=True))
    keys = [VariedKey(str(k), tuple(range(5)), codes) for k, codes in enumerate((first, second))]
    assert effect(keys[0], np.exp(first)) == 1
    assert effect(keys[1], np.exp(first)) < 0.01
    assert effect(keys[0], np.ones(20)) == 0
    each = VariedKey("each", tuple(range(20)), np.arange(20))
    assert effect(each, np.exp(first)) == 0
