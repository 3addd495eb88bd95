"""Differences against the reals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilesim.arithmetic.add import add_scaling_fixed, opposite
from tilesim.network.operators import Add, Subtract

SCALES = (0.05, 0.02, 0.06)


@pytest.mark.parametrize(
    ("rule", "dtype", "zeros"), [("double", np.int8, (3, -7, 5)), ("double16", np.int16, (0, 0, 0))]
)
def test_within_one_step_of_the_reals(rule: str, dtype: Any, zeros: tuple[int, int, int]) -> None:
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(limits.min, limits.max, 999, endpoint=True).astype(dtype) for _ in range(2))
    scaling = opposite(rule, add_scaling_fixed(SCALES, zeros, rule))
    real = (SCALES[0] * (a - float(zeros[0])) - SCALES[1] * (b - float(zeros[1]))) / SCALES[2] + zeros[2]
    made = Subtract(rule, scaling, (int(limits.min), int(limits.max))).evaluate([a, b])
    assert made.dtype == dtype
    assert np.abs(made - np.clip(real, limits.min, limits.max)).max() < 0.52


def test_it_is_the_sum_with_the_opposite() -> None:
    a, b = np.array([5, -100], np.int16), np.array([3, 7], np.int16)
    assert opposite("shift", (0, 1, 1)) == (0, 1, -1)
    assert Subtract("shift", (0, 1, -1), (-9, 9)).evaluate([a, b]).tolist() == [3, -9]
    assert Add("shift", (0, 1, 1), (-99, 9)).evaluate([a, b]).tolist() == [7, -96]
