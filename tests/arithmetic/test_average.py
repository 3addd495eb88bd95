from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.arithmetic.average import average, average_scaling

TAPS = st.lists(st.integers(-128, 127), min_size=1, max_size=30)
ZEROS = st.tuples(st.integers(-128, 127), st.integers(-128, 127))


def run(taps: list[int], scales: tuple[float, float], zeros: tuple[int, int], count: int) -> int:
    return average(iter(np.array(taps, np.int8)[:, None]), average_scaling(scales, zeros, count)).item()


@given(TAPS, ZEROS, st.integers(0, 4))
def test_exact_where_float32_is(taps: list[int], zeros: tuple[int, int], power: int) -> None:
    """Powers of two: nothing is rounded but the result, half to even after the zero point."""
    exact = Fraction(sum(tap - zeros[0] for tap in taps), 2 ** (power + 1)) + zeros[1]
    assert run(taps, (0.25, 0.5), zeros, 2**power) == round(exact)


@given(TAPS, ZEROS, st.floats(2**-10, 1, width=32), st.floats(2**-10, 1, width=32))
def test_within_half_a_step(taps: list[int], zeros: tuple[int, int], scale_in: float, scale_out: float) -> None:
    real = sum(tap - zeros[0] for tap in taps) * scale_in / len(taps) / scale_out + zeros[1]
    assert abs(run(taps, (scale_in, scale_out), zeros, len(taps)) - real) <= 0.5 + 1e-4 * (1 + abs(real))


def test_order_decides_at_halves() -> None:
    """The same numbers in another order: float32 sums fall on either side of a half."""
    taps = np.random.default_rng(0).integers(-128, 128, (8, 20_000)).astype(np.int8)
    scaling = average_scaling((0.1, 0.1), (0, 0), 8)
    forward, backward = average(iter(taps), scaling), average(iter(taps[::-1]), scaling)
    different = np.flatnonzero(forward != backward)
    assert different.size > 0
    assert set(np.abs(taps[:, different].astype(int).sum(axis=0)) % 8) == {4}


def test_far_out_of_range_saturates() -> None:
    assert run([127], (1e20, 1e-20), (0, 0), 1) == 1 << 24
    assert run([-128], (1e20, 1e-20), (0, 0), 1) == -(1 << 24)
