from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilesim.arithmetic.add import add, add_scaling_fixed, add_scaling_float, opposite

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


@given(SCALES, ZEROS, st.integers(-128, 127), st.integers(-128, 127))
def test_float_rounds_each_sum_once(
    scales: tuple[float, float, float], zeros: tuple[int, int, int], a: int, b: int
) -> None:
    scaling = add_scaling_float(scales, zeros)
    ratios = [Fraction(float(ratio)) for ratio in np.array(scaling, np.int32).view(np.float32)]
    total = np.float32(0)
    for value, ratio, more in ((b, ratios[1], ratios[2]), (a, ratios[0], None)):
        exact = value * ratio + (Fraction(float(total)) if more is None else more)
        total = _nearest(exact)
    operands = (np.array([value], np.int8) for value in (a, b))
    assert add("float", *operands, scaling)[0] == np.rint(total)


def _nearest(exact: Fraction) -> np.float32:
    """The float32 next to a number, the even one of two."""
    around = np.float32(float(exact))
    near = [np.nextafter(around, np.float32(side * np.inf)) for side in (-1, 1)]
    return min((around, *near), key=lambda value: (abs(Fraction(float(value)) - exact), value.view(np.int32) & 1))


def test_sums_half_way_fall_as_in_onnx_runtime() -> None:
    """Scales of few bits make ties, which two roundings of a sum would push to the other side."""
    scaling = add_scaling_float((0.02783203125, 0.051025390625, 0.03662109375), (-128, 0, -128))
    a, b = np.array([-37, -115, -4, -77, -126], np.int8), np.array([39, 27, 21, -21, 33], np.int8)
    assert add("float", a, b, scaling).tolist() == [-5, -80, -5, -118, -80]


@given(SCALES, st.integers(-32768, 32767), st.integers(-32768, 32767))
def test_int16_is_within_one_step_of_the_reals(scales: tuple[float, float, float], a: int, b: int) -> None:
    operands = (np.array([value], np.int16) for value in (a, b))
    real = (scales[0] * a + scales[1] * b) / scales[2]
    assert (
        abs(add("double16", *operands, add_scaling_fixed(scales, (0, 0, 0), "double16"))[0] - real)
        < 0.53 + abs(real) * 1e-4
    )


@given(st.integers(-32768, 32767), st.integers(-32768, 32767), st.integers(0, 15), st.booleans())
def test_shifts_round_half_away_from_zero(a: int, b: int, right: int, taken: bool) -> None:
    exact = Fraction(b, 1 << right)
    nearest = int(abs(exact) + Fraction(1, 2)) * (-1 if b < 0 else 1)
    scaling = opposite("shift", (0, right, 1)) if taken else (0, right, 1)
    operands = (np.array([value], np.int16) for value in (a, b))
    assert add("shift", *operands, scaling)[0] == a + (-nearest if taken else nearest)


def test_the_opposite_of_the_opposite_is_the_sum() -> None:
    scaling = add_scaling_fixed((0.5, 0.25, 0.75), (1, -2, 3))
    assert opposite("double", scaling)[4] == -scaling[4] != 0
    assert opposite("double", opposite("double", scaling)) == scaling
