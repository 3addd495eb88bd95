from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.requantise import float_bits, quantise_multiplier

BYTES = st.integers(-128, 127)


@given(BYTES, BYTES, BYTES, BYTES, BYTES, st.floats(1e-4, 1))
def test_both_rules_are_within_a_step_of_the_real_product(
    a: int, b: int, zero_a: int, zero_b: int, zero_y: int, real: float
) -> None:
    x, y = np.array([a], np.int8), np.array([b], np.int8)
    exact = (a - zero_a) * (b - zero_b) * real + zero_y
    fixed = multiply("double", x, y, (zero_a, zero_b, zero_y, *quantise_multiplier(real)))
    floating = multiply("float", x, y, (zero_a, zero_b, zero_y, int(float_bits(real)[0]), 0))
    assert abs(fixed[0] - exact) <= 1 + 1e-2
    assert abs(floating[0] - exact) <= 0.5 + 1e-2


def test_a_tie_goes_to_even_after_the_zero_point() -> None:
    half = int(float_bits(0.5)[0])
    x = np.array([1, 3, 5], np.int8)
    assert multiply("float", x, np.ones(3, np.int8), (0, 0, 1, half, 0)).tolist() == [2, 2, 4]  # 1.5, 2.5, 3.5
