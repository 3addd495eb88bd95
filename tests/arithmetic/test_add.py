import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.arithmetic.add import add, add_scaling_fixed, add_scaling_float

SCALES = st.tuples(*[st.floats(2**-10, 2**-4, width=32)] * 3)
ZEROS = st.tuples(*[st.integers(-128, 127)] * 3)
GRID = np.arange(-128, 128, dtype=np.int8)


@given(SCALES, ZEROS)
def test_both_rules_are_within_one_step_of_the_reals(
    scales: tuple[float, float, float], zeros: tuple[int, int, int]
) -> None:
    a, b = GRID[:, None], GRID[None, :]
    real = (scales[0] * (a - float(zeros[0])) + scales[1] * (b - float(zeros[1]))) / scales[2] + zeros[2]
    for rule, scaling in (
        ("double", add_scaling_fixed(scales, zeros)),
        ("float", add_scaling_float(scales, zeros)),
    ):
        assert all(-(1 << 31) <= value < 1 << 31 for value in scaling)
        assert np.abs(add(rule, a, b, scaling) - real).max() < 0.51 + np.abs(real).max() * 1e-6
