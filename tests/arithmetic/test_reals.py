from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.arithmetic.add import add
from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.reals import real_scaling

SCALES = st.tuples(*[st.floats(2**-10, 2**-4, width=32)] * 3)
ZEROS = st.tuples(*[st.integers(-128, 127)] * 3)
A, B = np.arange(-128, 128, dtype=np.int8)[:, None], np.arange(-128, 128, dtype=np.int8)[None, :]


@given(SCALES, ZEROS)
def test_both_are_within_half_a_step_of_the_reals(
    scales: tuple[float, float, float], zeros: tuple[int, int, int]
) -> None:
    a, b = scales[0] * (A - float(zeros[0])), scales[1] * (B - float(zeros[1]))
    scaling = real_scaling(scales, zeros)
    assert all(-(1 << 31) <= value < 1 << 31 for value in scaling)
    for function, exact in ((add, a + b), (multiply, a * b)):
        steps = exact / scales[2] + zeros[2]
        assert np.abs(function("real", A, B, scaling) - steps).max() < 0.5 + np.abs(steps).max() * 1e-6


def test_a_tie_goes_to_even_before_the_zero_point() -> None:
    scaling = real_scaling((1.0, 1.0, 2.0), (0, 0, 1))
    x = np.array([1, 3, 5], np.int8)
    assert add("real", x, np.zeros(3, np.int8), scaling).tolist() == [1, 3, 3]  # 0.5, 1.5, 2.5


@pytest.mark.parametrize("bits", [0, 0x7FC00000, 0x7F800000, -1])
def test_any_bits_give_integers(bits: int) -> None:
    total = add("real", A, B, (0, bits, 0, bits, 0, bits))
    assert total.dtype == np.int32
    assert np.abs(total).max() <= 1 << 24
