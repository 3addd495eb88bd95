import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesim.arithmetic.requantise import (
    float_bits,
    quantise_multiplier,
    requantise,
    saturate,
    wide_bits,
    wide_factor,
)

SUMS = st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=1, max_size=8)
MANTISSAS = st.integers(1 << 30, (1 << 31) - 1)


def run(rule: str, sums: list[int], multiplier: int, shift: int = 0) -> list[int]:
    column = np.array(sums, np.int32)[:, None]
    return requantise(rule, column, np.array([multiplier], np.int32), np.array([shift], np.int32))[:, 0].tolist()


def half_away(value: Fraction) -> int:
    return int(math.copysign(math.floor(abs(value) + Fraction(1, 2)), value))


def half_up(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def int32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


@given(SUMS, MANTISSAS, st.integers(-31, 8))
def test_double(sums: list[int], multiplier: int, shift: int) -> None:
    shifted = [int32(value << max(shift, 0)) for value in sums]
    high = [half_up(Fraction(value * multiplier, 1 << 31)) for value in shifted]
    assert run("double", sums, multiplier, shift) == [half_away(Fraction(h, 1 << max(-shift, 0))) for h in high]


@given(SUMS, MANTISSAS, st.integers(-31, 8))
def test_single(sums: list[int], multiplier: int, shift: int) -> None:
    exact = [half_up(Fraction(value * multiplier, 1 << (31 - shift))) for value in sums]
    assert run("single", sums, multiplier, shift) == [int32(value) for value in exact]


@given(st.lists(st.integers(-(1 << 47) + 1, (1 << 47) - 1), min_size=1, max_size=8), MANTISSAS, st.integers(-31, 7))
def test_long(sums: list[int], multiplier: int, shift: int) -> None:
    """Of 64-bit sums, by 15 bits of the mantissa."""
    reduced = min(multiplier + (1 << 15) >> 16, 0x7FFF)
    exact = [half_up(Fraction(value * reduced, 1 << (15 - shift))) for value in sums]
    column = np.array(sums, np.int64)[:, None]
    made = requantise("long", column, np.array([multiplier], np.int32), np.array([shift], np.int32))
    assert made[:, 0].tolist() == [int32(value) for value in exact]


@given(SUMS, st.integers(1, 1 << 20))
def test_divide(sums: list[int], count: int) -> None:
    expected = [int(math.copysign((abs(value) + count // 2) // count, value)) for value in sums]
    assert run("divide", sums, count) == expected


@given(SUMS, st.floats(2**-40, 0.5, width=32))
def test_float(sums: list[int], scale: float) -> None:
    bits = int(float_bits(scale)[0])
    expected = [int(np.rint(np.float32(value) * np.float32(scale))) for value in sums]
    assert run("float", sums, bits) == expected


def in_halves(real: float) -> tuple[int, int]:
    """A factor as the rule ``wide`` takes it."""
    low, high = wide_bits(np.array([real]))
    return int(low[0]), int(high[0])


@given(SUMS, st.floats(2**-40, 0.5))
def test_wide(sums: list[int], factor: float) -> None:
    exact = [half_away(Fraction(value * factor)) for value in sums]
    assert run("wide", sums, *in_halves(factor)) == exact


def test_wide_rounds_half_away_from_zero_and_only_what_is_a_half() -> None:
    assert run("wide", [1, 3, 5, -1, -3, -5], *in_halves(0.5)) == [1, 2, 3, -1, -2, -3]
    assert run("wide", [1, -1], *in_halves(0.5 - 2.0**-54)) == [0, 0]
    assert run("wide", [1, -1], *in_halves(0.5 - 2.0**-53)) == [0, 0]


def test_wide_saturates_and_takes_any_bits() -> None:
    assert run("wide", [5, -5], *in_halves(2.0**40)) == [(1 << 31) - 1, -(1 << 31)]
    assert run("wide", [5], *in_halves(float("nan"))) == [0]
    assert run("wide", [0], *in_halves(float("inf"))) == [0]
    assert wide_factor(*wide_bits(np.array([0.3, -7e-200]))).tolist() == [0.3, -7e-200]


def test_float_rounds_half_to_even_and_saturates() -> None:
    half = int(float_bits(0.5)[0])
    assert run("float", [129, 127, -129], half) == [64, 64, -64]
    assert run("float", [1 << 30, -(1 << 30)], int(float_bits(8.0)[0])) == [(1 << 31) - 128, -(1 << 31)]


def test_blocks_agree_with_one_pass() -> None:
    rng = np.random.default_rng(0)
    sums = rng.integers(-(1 << 24), 1 << 24, (70, 1000), np.int32)
    multiplier = rng.integers(1 << 30, (1 << 31) - 1, 1000, np.int32)
    shift = rng.integers(-12, 0, 1000, np.int32)
    whole = requantise("double", sums.reshape(7, 10, 1000), multiplier, shift)
    rows = [requantise("double", row, multiplier, shift) for row in sums]
    np.testing.assert_array_equal(whole.reshape(70, 1000), rows)


@given(SUMS, MANTISSAS, st.integers(-(1 << 31), 30))
def test_whatever_a_program_holds_is_a_shift(sums: list[int], multiplier: int, shift: int) -> None:
    """And all channels with the same factor get what each gets on its own."""
    columns = np.repeat(np.array(sums, np.int32)[:, None], 2, axis=1)
    factors = np.full(2, multiplier, np.int32), np.full(2, shift, np.int32)
    assert requantise("double", columns, *factors)[:, 0].tolist() == run("double", sums, multiplier, shift)


@given(st.floats(2**-30, 2**29))
def test_quantise_multiplier(real: float) -> None:
    mantissa, shift = quantise_multiplier(real)
    assert 1 << 30 <= mantissa < 1 << 31
    assert mantissa * 2.0 ** (shift - 31) == pytest.approx(real, rel=2**-30)


def test_quantise_multiplier_at_its_ends() -> None:
    assert quantise_multiplier(0.0) == (0, 0)
    assert quantise_multiplier(2.0**-40) == (0, 0)
    assert quantise_multiplier(1 - 2**-40) == (1 << 30, 1)
    assert quantise_multiplier(2.0**40) == ((1 << 31) - 1, 30)


def test_saturate() -> None:
    values = np.array([(1 << 31) - 1, -(1 << 31), 5], np.int32)
    np.testing.assert_array_equal(saturate(values, 127, (-128, 127), np.int8), np.array([127, -128, 127], np.int8))
    np.testing.assert_array_equal(saturate(values, 3, (3, 200), np.uint8), np.array([200, 3, 8], np.uint8))
