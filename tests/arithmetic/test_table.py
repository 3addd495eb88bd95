from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.arithmetic.hard_swish import hard_swish_table
from tilesim.arithmetic.table import (
    Mapped,
    identity,
    inputs,
    leaky,
    leaky_table,
    look_up,
    rescaling_table,
    sigmoid,
    tabulate,
)

DTYPES = st.sampled_from([np.dtype(np.int8), np.dtype(np.uint8)])
SCALES = st.floats(1e-3, 0.1)


@st.composite
def ends(draw: st.DrawFn) -> Mapped:
    dtype = draw(DTYPES)
    limits = np.iinfo(dtype)
    zero_points = st.integers(limits.min, limits.max)
    return Mapped(draw(SCALES), draw(zero_points), draw(SCALES), draw(zero_points), dtype)


@given(ends(), st.sampled_from(["away", "even"]))
def test_a_table_is_within_half_a_step_of_its_function(of: Mapped, rounding: str) -> None:
    limits = np.iinfo(of.dtype)
    real = 1 / (1 + np.exp(-(inputs(of.dtype).astype(float) - of.input_zero_point) * of.input_scale))
    steps = np.clip(real / of.output_scale + of.output_zero_point, limits.min, limits.max)
    assert np.abs(tabulate(sigmoid, of, rounding) - steps).max() <= 0.5 + 1e-3


@given(ends(), st.floats(0.01, 2))
def test_rounding_twice_is_within_a_step_of_rounding_once(of: Mapped, alpha: float) -> None:
    once = tabulate(leaky(alpha), of, "even").astype(int)
    assert np.abs(leaky_table(alpha, of) - once).max() <= 1
    rescaled = tabulate(identity, of, "away").astype(int)
    assert np.abs(rescaling_table(of) - rescaled).max() <= 1


@given(DTYPES)
def test_a_byte_finds_its_entry(dtype: np.dtype) -> None:
    of = Mapped(0.5, 3, 0.5, 3, dtype)
    x = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
    np.testing.assert_array_equal(look_up(tabulate(identity, of, "even"), x), x)
    np.testing.assert_array_equal(look_up(rescaling_table(of), x[::-2]), x[::-2])


def test_a_scale_that_a_16_bit_factor_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="above 1/128"):
        hard_swish_table(Mapped(1.0, 0, 1 / 256, 0, np.dtype(np.int8)))
