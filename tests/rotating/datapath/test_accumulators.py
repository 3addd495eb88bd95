"""Accumulators against integers without bounds: after each addition a sum saturates, wraps or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rotating.programs import chip
from tilesim.errors import AccessError
from tilesim.rotating.datapath.accumulators import Accumulators, Operands
from tilesim.rotating.datapath.words import Words
from tilesim.rotating.isa.model.instructions import Alu, Set
from tilesim.rotating.topology import Topology

UNITS = 4
ALUS = [Alu.MULTIPLY_ADD, Alu.ADD, Alu.MAX, Alu.COPY, Alu.PLANE]


def made(bits: int = 32, overflow: str = "saturate", word_bits: int = 8) -> Topology:
    return chip(UNITS, units={"accumulator_bits": bits, "overflow": overflow, "word_bits": word_bits})


def some(*words: int) -> Words:
    return np.array([words], np.int32)


def summed(topology: Topology, *ops: tuple[Alu, Words, Words], control: Set | None = None, samples: int = 1) -> Any:
    sums, operands = Accumulators(topology, samples), Operands.of(control or Set(), topology)
    for alu, x, w in ops:
        sums.work(alu, 0, x, w, operands, "step")
    return sums.sums.tolist()


def within(value: int, bits: int, overflow: str) -> int:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return (value - low) % (1 << bits) + low if overflow == "wrap" else min(high, max(low, value))


def plain(sum_: int, alu: Alu, plane: int, x: int, w: int, control: Set, word_bits: int) -> int:
    """What a unit's sum becomes where there is room for all."""
    x = x % (1 << word_bits) if control.data == "unsigned" else x
    w = w % (1 << word_bits) if control.weights == "unsigned" else w
    if alu is Alu.PLANE:
        byte = x % 256
        return sum_ + ((byte if plane < 3 else (byte ^ 128) - 128) << (8 * plane))
    return {
        Alu.NONE: sum_,
        Alu.MULTIPLY_ADD: sum_ + (x - control.data_zero) * (w - control.weight_zero),
        Alu.ADD: sum_ + x - control.data_zero,
        Alu.MAX: max(sum_, x),
        Alu.COPY: x,
    }[alu]


CONTROLS = st.builds(
    lambda data, weights, x, w: Set(data=data, weights=weights, data_zero=x, weight_zero=w),
    st.sampled_from(["signed", "unsigned"]),
    st.sampled_from(["signed", "unsigned"]),
    st.integers(-255, 255),
    st.integers(-255, 255),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(ALUS), st.integers(0, 3), st.sampled_from(["", "zero", "least"])), max_size=9
)


@given(
    STEPS,
    CONTROLS,
    st.sampled_from([8, 12, 16, 31, 32]),
    st.sampled_from(["saturate", "wrap"]),
    st.sampled_from([8, 16]),
    st.integers(0, 1 << 20),
)
def test_they_are_integers_that_saturate_or_wrap_after_each_addition(
    steps: list[tuple[Alu, int, str]], control: Set, bits: int, overflow: str, word_bits: int, seed: int
) -> None:
    topology, rng, samples = made(bits, overflow, word_bits), np.random.default_rng(seed), 2
    sums, operands = Accumulators(topology, samples), Operands.of(control, topology)
    expected = np.zeros((samples, UNITS), object)
    half = 1 << (word_bits - 1)
    for alu, plane, clear in steps:
        x, w = (rng.integers(-half, half, (samples, UNITS)).astype(np.int32) for _ in range(2))
        sums.work(alu, plane, x, w, operands, "step")
        for index in np.ndindex(samples, UNITS):
            value = plain(int(expected[index]), alu, plane, int(x[index]), int(w[index]), control, word_bits)
            expected[index] = within(value, bits, overflow)
        assert sums.sums.tolist() == expected.tolist()
        if clear:
            sums.clear(clear)
            expected[:] = 0 if clear == "zero" else -(1 << (bits - 1))
            assert sums.sums.tolist() == expected.tolist()


def test_each_addition_saturates_by_itself() -> None:
    steps = [(Alu.ADD, some(100, -100, 127, 0), some(0))] * 2 + [(Alu.ADD, some(-100, 100, 1, 0), some(0))]
    assert summed(made(8), *steps) == [[27, -28, 127, 0]]
    assert summed(made(8, "wrap"), *steps) == [[100, -100, -1, 0]]
    assert summed(made(9), *steps) == [[100, -100, 255, 0]]


def test_a_million_additions_do_not_pass_unseen() -> None:
    """Nobody looks as long as nothing can have gone too far; then somebody must."""
    step = (Alu.MULTIPLY_ADD, some(127, -128, 1, 0), some(127, 127, 1, 127))
    many = summed(made(24), *[step] * 600)
    assert many == [[(1 << 23) - 1, -(1 << 23), 600, 0]]


def test_the_largest_sum_that_there_is_room_for_is_not_refused() -> None:
    topology = made(8, "refuse")
    assert summed(topology, (Alu.COPY, some(127, -128, 0, 0), some(0))) == [[127, -128, 0, 0]]
    with pytest.raises(AccessError, match="step: the accumulator of unit 1 must be -128 to 127, not -129"):
        summed(topology, (Alu.COPY, some(127, -128, 0, 0), some(0)), (Alu.ADD, some(0, -1, 0, 0), some(0)))


@pytest.mark.parametrize("alu", [Alu.COPY, Alu.MAX, Alu.PLANE])
def test_words_that_have_no_room_are_refused_too(alu: Alu) -> None:
    """An unsigned word, or a byte without its sign."""
    with pytest.raises(AccessError, match="must be -128 to 127, not 200"):
        summed(made(8, "refuse"), (alu, some(-56, 0, 0, 0), some(0)), control=Set(data="unsigned"))


def test_zero_points_are_of_sums_and_products_alone() -> None:
    control = Set(data_zero=10, weight_zero=-3)
    x, w = some(1, 2, 3, 4), some(5, 6, 7, 8)
    assert summed(made(), (Alu.MULTIPLY_ADD, x, w), control=control) == [[-72, -72, -70, -66]]
    assert summed(made(), (Alu.ADD, x, w), control=control) == [[-9, -8, -7, -6]]
    for alu in (Alu.MAX, Alu.COPY, Alu.PLANE):
        assert summed(made(), (alu, x, w), control=control) == [[1, 2, 3, 4]]


def test_nothing_is_done_by_none() -> None:
    assert summed(made(), (Alu.COPY, some(1, 2, 3, 4), some(0)), (Alu.NONE, some(9), some(9))) == [[1, 2, 3, 4]]


SUMS = [-1, 0, (1 << 31) - 1, -(1 << 31)]


def test_planes_in_order_are_the_sum_again() -> None:
    """The bytes of a sum, each with the sign that its word has, and no partial sum without room."""
    for numbers in (SUMS, [123456789, -123456789, 255, 256], [-256, -65536, 1 << 24, -(1 << 24)]):
        sums, operands = Accumulators(made(), 1), Operands.of(Set(data_zero=77), made())
        for plane in range(4):
            words = [(number >> (8 * plane) & 255 ^ 128) - 128 for number in numbers]
            sums.work(Alu.PLANE, plane, some(*words), some(0), operands, "step")
        assert sums.sums.tolist() == [numbers]
