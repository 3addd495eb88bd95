"""Maps of other sizes, by hand and against the real means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilesim.network.operators import ResizeBilinear


def resized(row: list[int], columns: int, dtype: Any = np.int8, *, align: bool = False, centred: bool = False) -> Any:
    x = np.array(row, dtype).reshape(1, 1, -1, 1)
    rule = "real" if dtype == np.uint8 else "fixed"
    return ResizeBilinear((1, columns), align, centred, rule).evaluate([x]).reshape(-1).tolist()


def test_places_by_hand() -> None:
    """Steps of 1/2 pixel; of 1/3 with both ends; from a quarter of a pixel before the first."""
    assert resized([0, 10, -10], 6) == [0, 5, 10, 0, -10, -10]
    assert resized([0, 9], 4, align=True) == [0, 3, 6, 9]
    assert resized([0, 8], 4, centred=True) == [0, 2, 6, 8]
    assert resized([0, 8], 4, np.uint8, centred=True) == [0, 2, 6, 8]


def test_halves() -> None:
    """In fixed point away from zero; in reals up, as a half is added."""
    assert resized([1, 2, -1, -2], 8)[1::2] == [2, 1, -2, -2]
    assert resized([1, 2], 4, np.uint8) == [1, 2, 2, 2]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize(("align", "centred"), [(False, False), (True, False), (False, True)])
def test_within_a_step_of_the_real_mean(dtype: Any, align: bool, centred: bool) -> None:
    rng, limits, size = np.random.default_rng(2), np.iinfo(dtype), (7, 5)
    x = rng.integers(limits.min, limits.max, (3, 4, 9, 2), endpoint=True).astype(dtype)
    made = ResizeBilinear(size, align, centred, "real" if dtype == np.uint8 else "fixed").evaluate([x])
    weights = []
    for old, new in zip((4, 9), size, strict=True):
        step = (old - 1) / (new - 1) if align else old / new
        places = np.clip((np.arange(new) + 0.5) * step - 0.5 if centred else np.arange(new) * step, 0, old - 1)
        weights.append(np.maximum(0, 1 - np.abs(places[:, None] - np.arange(old))))
    real = np.einsum("yi,xj,nijc->nyxc", *weights, x.astype(np.float64))
    assert made.shape == (3, *size, 2)
    assert np.abs(made - real).max() <= 0.5 + (limits.max - limits.min) * 9 / 1024


def test_large_maps_go_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).integers(-128, 128, (2, 5, 6, 3)).astype(np.int8)
    op = ResizeBilinear((11, 13), False, True, "fixed")
    whole = op.evaluate([x])
    monkeypatch.setattr("tilesim.arithmetic.interpolate.BLOCK_ELEMENTS", 200)
    np.testing.assert_array_equal(op.evaluate([x]), whole)
