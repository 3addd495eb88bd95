"""Weights of lanes follow the bytes that they are made of, and are kept as far as there is room."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.tiled.units.tensor import weight_cache
from tilesim.tiled.units.tensor.weight_cache import (
    BLOCK_ELEMENTS,
    LaneWeights,
    WeightCache,
    added_up,
    joined,
    products_at_once,
)


def made(value: float) -> LaneWeights:
    weights = np.full((4, 4), value, np.float32)
    return LaneWeights(weights, np.zeros(4, np.int64), None, 4, 0)


def test_columns_are_made_anew_only_where_their_bytes_have_changed() -> None:
    cache, wide, calls = WeightCache(), np.zeros((1, 64), np.uint8), []

    def make(one: np.ndarray) -> LaneWeights:
        calls.append(len(one))
        return made(float(one[0, 8]))

    entry = cache.entry("key", ((8, 16), (32, 40)))
    assert cache.entry("key", ((8, 16), (32, 40))) is entry
    for changed, value in ((0, 0), (16, 0), (8, 1), (8, 2), (39, 2)):
        wide[0, changed] += 1
        columns = cache.lookup(entry, [wide], make)
        assert columns is not None
        assert columns.weights[0, 0] == value
        assert cache.lookup(entry, [wide], make) is columns
    assert calls == [1, 1, 1, 1]


@pytest.mark.parametrize("cuts", [[2], [1, 1], [2, 1], [1, 2]])
def test_samples_with_bytes_of_their_own_have_no_columns_in_common(cuts: list[int]) -> None:
    cache, wide = WeightCache(), [np.zeros((count, 64), np.uint8) for count in cuts]
    entry = cache.entry("key", ((0, 8),))
    wide[-1][-1, 8] = 1
    assert cache.lookup(entry, wide, lambda _: made(1)) is not None
    wide[-1][-1, 7] = 1
    assert cache.lookup(entry, wide, lambda _: made(1)) is None


def test_columns_used_longest_ago_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_cache, "MOST_BYTES", 2 * made(0).size_bytes)
    cache, wide = WeightCache(), np.zeros((1, 64), np.uint8)
    entries = [cache.entry(key, ((0, 8),)) for key in "abc"]
    for entry in (entries[0], entries[1], entries[0], entries[2]):
        cache.lookup(entry, [wide], lambda _: made(1))
    assert [entry.weights is not None for entry in entries] == [True, False, True]


def test_spans_that_hardly_lie_apart_are_looked_at_as_one() -> None:
    assert joined([(5, 30), (40, 41)]) == ((0, 48),)
    assert joined([(8, 16), (4096, 4100)]) == ((8, 16), (4096, 4104))


def test_as_many_products_at_once_as_float32_holds() -> None:
    weights = np.full((2000, 2), 100, np.float32)
    weights[:, 1] = -50
    assert products_at_once(weights[:1000], (128, 128)) == (1000, 16_384_000)  # whatever the weights are
    assert products_at_once(weights[:1100], (128, 128)) == (1100, 14_080_000)
    at_once, bound = products_at_once(weights, (128, 128))
    assert bound == 25_600_000
    assert at_once * 128 * 128 <= 1 << 24 < (at_once + 1) * 128 * 128


@pytest.mark.parametrize("columns", [1, 3, BLOCK_ELEMENTS + 1])
def test_the_bound_of_all_sums_is_that_of_the_largest_column(columns: int) -> None:
    weights = np.random.default_rng(0).integers(-128, 128, (520, columns)).astype(np.float32)
    _, bound = products_at_once(weights, (255, 128))
    assert bound == 255 * int(np.abs(weights).sum(axis=0, dtype=np.float64).max())


@pytest.mark.parametrize("rows", [3, 1 << 16, (1 << 16) + 1])
def test_columns_are_added_up_exactly(rows: int) -> None:
    weights = np.full((rows, 2), 255, np.float32)
    weights[1:, 1] = -255
    assert added_up(weights).tolist() == [255 * rows, 255 * (2 - rows)]
    assert added_up(np.full((2, 1), -(1 << 15), np.float64)).tolist() == [-(1 << 16)]
