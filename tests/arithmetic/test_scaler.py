"""Prepared requantisation gives the bytes of the rule itself, for every sum that can matter, or refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tilesim.arithmetic.requantise import float_bits, requantise, saturate, wide_bits
from tilesim.arithmetic.scaler import BLOCK_ELEMENTS, Scaler, scaler

CLAMPS = st.sampled_from([(-128, 127), (0, 127), (-20, 60), (5, 5)])
ZERO_POINTS = st.sampled_from([-128, -17, 0, 3, 127])
MANTISSAS = st.one_of(
    st.integers(1 << 30, (1 << 31) - 1), st.sampled_from([0, 1, 1 << 30, (1 << 31) - 1, 3 << 29, (1 << 30) + 64])
)


def reference(
    rule: str, sums: NDArray[Any], offset: int, multiplier: int, shift: int, zero_point: int, clamp: tuple[int, int]
) -> NDArray[np.uint8]:
    parameters = (np.array([value], np.int32) for value in (multiplier, shift))
    scaled = requantise(rule, (sums + offset).astype(np.int32)[:, None], *parameters)
    return saturate(scaled, zero_point, clamp, np.int8).view(np.uint8)


def prepared(
    rule: str, bound: int, offset: int, multiplier: int, shift: int, zero_point: int, clamp: tuple[int, int]
) -> Scaler | None:
    columns = (np.array([value], np.int32) for value in (multiplier, shift))
    return scaler(rule, bound, np.array([offset]), *columns, zero_point, clamp)


def thresholds(multiplier: int, right: int, offset: int) -> NDArray[np.int64]:
    """Sums round each place where the result of a fixed-point rule can change."""
    places = np.arange(-520, 521) * 0.5  # whole steps, and halves, of which those that decide lie 1 away at most
    sums = np.array([int(place * 2 ** (31 + right)) // max(multiplier, 1) for place in places.tolist()]) - offset
    return np.unique(sums[:, None] + np.arange(-3, 4)).astype(np.int64)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["double", "single"]), st.integers(1, 12), MANTISSAS, st.integers(-1 << 19, 1 << 19),
       ZERO_POINTS, CLAMPS)  # fmt: skip
def test_fixed_point_agrees_wherever_the_result_changes(
    rule: str, right: int, multiplier: int, offset: int, zero_point: int, clamp: tuple[int, int]
) -> None:
    """Both are monotonic in the sum, so that they agree everywhere if they do on both sides of each threshold."""
    bound = 1 << 24
    sums = thresholds(multiplier, right, offset)
    sums = np.r_[-bound, sums[abs(sums) <= bound], bound]
    scale = prepared(rule, bound, offset, multiplier, -right, zero_point, clamp)
    assert scale is not None
    scaled = scale(sums.astype(np.float32)[:, None])
    assert np.array_equal(scaled, reference(rule, sums, offset, multiplier, -right, zero_point, clamp))


@pytest.mark.parametrize("rule", ["double", "single"])
@pytest.mark.parametrize(("multiplier", "right"), [(1 << 30, 1), (1 << 30, 4), (1518500250, 6), ((1 << 31) - 1, 9)])
@pytest.mark.parametrize("clamp", [(-128, 127), (-40, 127)])
def test_fixed_point_agrees_on_every_sum(rule: str, multiplier: int, right: int, clamp: tuple[int, int]) -> None:
    sums = np.arange(-40_000, 40_000)
    for zero_point in (-128, 5):
        scale = prepared(rule, 1 << 18, -7, multiplier, -right, zero_point, clamp)
        assert scale is not None
        scaled = scale(sums.astype(np.float32)[:, None])
        assert np.array_equal(scaled, reference(rule, sums, -7, multiplier, -right, zero_point, clamp))


@settings(max_examples=80, deadline=None)
@given(st.floats(-4, 4, width=32), st.integers(-1 << 20, 1 << 20), ZERO_POINTS, CLAMPS, st.integers(0, 99))
def test_float_agrees(real: float, offset: int, zero_point: int, clamp: tuple[int, int], seed: int) -> None:
    sums = np.random.default_rng(seed).integers(-1 << 20, 1 << 20, 500) // 10 ** (seed % 6)
    bits = int(float_bits(real)[0])
    expected = reference("float", sums, offset, bits, 0, zero_point, clamp)
    for bound, dtype in ((1 << 20, np.float32), (1 << 30, np.float64)):
        scale = prepared("float", bound, offset, bits, 0, zero_point, clamp)
        assert scale is not None
        assert np.array_equal(scale(sums.astype(dtype)[:, None]), expected)


def test_float_rounds_sums_that_float32_does_not_hold_as_the_rule_does() -> None:
    sums = (1 << 25) + np.arange(-20, 20)
    bits = int(float_bits(2.0**-19)[0])
    scale = prepared("float", 1 << 26, 3, bits, 0, 0, (-128, 127))
    assert scale is not None
    scaled = scale(sums.astype(np.float64)[:, None])
    assert np.array_equal(scaled, reference("float", sums, 3, bits, 0, 0, (-128, 127)))


@settings(max_examples=80, deadline=None)
@given(st.floats(-4, 4), st.integers(-1 << 20, 1 << 20), ZERO_POINTS, CLAMPS, st.integers(0, 99))
def test_wide_agrees(real: float, offset: int, zero_point: int, clamp: tuple[int, int], seed: int) -> None:
    sums = np.random.default_rng(seed).integers(-1 << 20, 1 << 20, 500) // 10 ** (seed % 6)
    low, high = (int(half[0]) for half in wide_bits(np.array([real])))
    scale = prepared("wide", 1 << 20, offset, low, high, zero_point, clamp)
    assert scale is not None
    expected = reference("wide", sums, offset, low, high, zero_point, clamp)
    assert np.array_equal(scale(sums.astype(np.float32)[:, None]), expected)


def test_columns_have_parameters_of_their_own_and_blocks_are_the_whole() -> None:
    random = np.random.default_rng(0)
    sums = random.integers(-1 << 16, 1 << 16, (3, BLOCK_ELEMENTS // 8, 5))
    offsets = random.integers(-999, 999, 5)
    multiplier = random.integers(1 << 30, (1 << 31) - 1, 5).astype(np.int32)
    shift = np.array([-5, -6, -7, -8, -9], np.int32)
    scale = scaler("double", 1 << 16, offsets, multiplier, shift, -3, (-128, 127))
    assert scale is not None
    expected = requantise("double", (sums + offsets).astype(np.int32), multiplier, shift)
    assert np.array_equal(scale(sums.astype(np.float32)).view(np.int8), saturate(expected, -3, (-128, 127), np.int8))


@pytest.mark.parametrize(
    ("rule", "bound", "offset", "multiplier", "shift", "zero_point", "clamp"),
    [
        ("double", 1 << 24, 0, 1 << 30, 0, 0, (-128, 127)),  # nothing is shifted out: another rounding
        ("double", 1 << 24, 0, 1 << 30, -13, 0, (-128, 127)),  # float64 has no half units so fine
        ("double", 1 << 24, 1 << 30, 1 << 30, -5, 0, (-128, 127)),
        ("double", 1 << 31, 0, 1 << 30, -5, 0, (-128, 127)),  # int32 sums would wrap
        ("single", 1 << 24, 0, -(1 << 30), -5, 0, (-128, 127)),
        ("double", 1 << 24, 0, 1 << 30, -5, 200, (-128, 127)),  # steps that no byte holds
        ("double", 1 << 24, 0, 1 << 30, -5, 0, (5, -5)),
        ("float", (1 << 31) - 1, 1, 0, 0, 0, (-128, 127)),
        ("float", 1 << 20, 0, 0x7F800000, 0, 0, (-128, 127)),  # the bits of infinity
        ("divide", 1 << 20, 0, 9, 0, 0, (-128, 127)),
        ("wide", (1 << 31) - 1, 1, 0, 0, 0, (-128, 127)),
        ("wide", 1 << 20, 0, 0, 0x7FF00000, 0, (-128, 127)),  # the bits of infinity
    ],
)
def test_what_is_not_known_to_be_exact_is_refused(
    rule: str, bound: int, offset: int, multiplier: int, shift: int, zero_point: int, clamp: tuple[int, int]
) -> None:
    assert prepared(rule, bound, offset, multiplier, shift, zero_point, clamp) is None


@pytest.mark.parametrize("rule", ["double", "single", "float"])
def test_a_part_scales_its_columns_as_the_whole_does(rule: str) -> None:
    random = np.random.default_rng(1)
    sums = random.integers(-1 << 12, 1 << 12, (7, 6)).astype(np.float32)
    multiplier = float_bits(random.random(6) / 50) if rule == "float" else np.full(6, 3 << 29, np.int32)
    scale = scaler(
        rule, 1 << 12, random.integers(-99, 99, 6), multiplier, np.arange(-6, 0, dtype=np.int32), 3, (-99, 99)
    )
    assert scale is not None
    assert np.array_equal(scale.part(2, 5)(sums[:, 2:5]), scale(sums)[:, 2:5])
