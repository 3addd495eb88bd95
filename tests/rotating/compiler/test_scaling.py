"""Factors of 64 bits in 32 and 8: never another result, of any sum."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.arithmetic.requantise import requantise, saturate, wide_bits
from tilesim.rotating.compiler.scaling import Scaling, narrow


@pytest.mark.parametrize("seed", range(20))
def test_a_narrow_factor_makes_the_same_of_every_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors = np.exp(rng.uniform(-12, -1, 3))
    wide = Scaling("wide", *wide_bits(factors))
    kept = narrow(wide, (-128, 127))
    assert kept is not None
    assert kept.rule == "single"
    edges = ((np.arange(-130, 131)[:, None] + 0.5) / factors).round().astype(np.int64)
    sums = np.clip(edges[None] + np.arange(-3, 4)[:, None, None], -(1 << 31), (1 << 31) - 1).astype(np.int32)
    results = [saturate(requantise(rule, sums, *both), 0, (-128, 127), np.int8) for rule, *both in (wide, kept)]
    np.testing.assert_array_equal(*results)


def test_what_no_narrow_factor_does_is_known() -> None:
    assert narrow(Scaling("wide", *wide_bits(np.array([1.5]))), (-128, 127)) is None
    double = Scaling("double", np.ones(1, np.int32), np.zeros(1, np.int32))
    assert narrow(double, (-128, 127)) is double
