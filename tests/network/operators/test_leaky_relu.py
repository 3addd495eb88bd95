"""Leaky ReLU of int16, every input of it."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.arithmetic.table import Mapped, leaky_factors, leaky_table
from tilesim.network.operators import LeakyRelu

EVERY = np.arange(-32768, 32768).astype(np.int16)


def eighths(x: int) -> int:
    """Halves rounded up, then a quarter of these, rounded half away from zero."""
    halves = (x + 1) >> 1
    return (abs(halves) + 2) // 4 * (-1 if halves < 0 else 1)


@pytest.mark.parametrize("alpha", [0.25, -0.25, 0.0])
def test_is_rounded_twice(alpha: float) -> None:
    """By half above 0, and below it by an eighth, or minus one, or nothing."""
    op = LeakyRelu(0, 0, "double", *leaky_factors(alpha, 0.5, 1.0))
    sign = (alpha > 0) - (alpha < 0)
    expected = [(x + 1) >> 1 if x >= 0 else sign * eighths(x) for x in EVERY.tolist()]
    assert op.evaluate([EVERY]).tolist() == expected


def test_saturates() -> None:
    op = LeakyRelu(0, 0, "double", *leaky_factors(-2.0, 1.0, 1.0))
    assert op.evaluate([np.array([-32768, -1, 0, 32767], np.int16)]).tolist() == [32767, 2, 0, 32767]


def test_bytes_by_it_are_those_of_the_table() -> None:
    ends = Mapped(0.04, 3, 0.03, -5, np.dtype(np.int8))
    op = LeakyRelu(3, -5, "double", *leaky_factors(0.1, 0.04, 0.03))
    every = np.arange(256, dtype=np.uint8).view(np.int8)
    np.testing.assert_array_equal(op.evaluate([every]), leaky_table(0.1, ends))
