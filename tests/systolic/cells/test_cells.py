"""What the cells do, against the formulas of the fast model: the same sums, each in the same cycle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.systolic.cells.run import Multiply, Result, Shift, expected, run
from tilesim.systolic.topology import Array


def integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.int8) -> NDArray[Any]:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def fast(array: Array, shifts: list[Shift], multiplies: list[Multiply]) -> dict[tuple[int, int, int], Result]:
    """What the fast model says: products as a whole, cycles by formula."""
    passes = multiplies[0].vectors.itemsize * shifts[0].tile.itemsize
    return {
        key: Result(total, array.result_cycle(multiplies[key[0]].begin, key[1], key[2], passes))
        for key, total in expected(multiplies, [shift.tile for shift in shifts])
    }


def cells(array: Array, shifts: list[Shift], multiplies: list[Multiply]) -> dict[tuple[int, int, int], Result]:
    return run((array.inputs, array.outputs), shifts, multiplies)


@st.composite
def schedules(draw: Any) -> tuple[Array, list[Shift], list[Multiply]]:
    """Tiles and multiplies, each as soon as the rules allow, or some cycles later.

    A shift begins when the path is free: when the multiply that took the tile before begins. One that switches begins
    when its tile has been shifted in and the vectors before it have entered.
    """
    size, late = st.integers(1, 5), st.sampled_from([0, 0, 0, 1, 2, 5])
    array = Array(rows=draw(size), columns=draw(size), weights=draw(st.sampled_from(["columns", "rows"])))
    activations, weights = draw(st.sampled_from([np.int8, np.int16])), draw(st.sampled_from([np.int8, np.int16]))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    shifts: list[Shift] = []
    multiplies: list[Multiply] = []
    path_free, entered = draw(late), 0
    for _ in range(draw(st.integers(1, 4))):
        tile = integers(rng, (array.inputs, array.outputs), weights)
        shifts.append(Shift(path_free + draw(late), tile))
        full = shifts[-1].begin + array.shift_cycles(tile.itemsize)
        for number, vectors in enumerate(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))):
            begin = max(entered, full) + draw(late)
            multiplies.append(Multiply(begin, integers(rng, (vectors, array.inputs), activations), number == 0))
            entered = begin + vectors * np.dtype(activations).itemsize * tile.itemsize
            path_free = begin if number == 0 else path_free
    return array, shifts, multiplies


@given(schedules())
@settings(max_examples=150)
def test_the_same_sums_in_the_same_cycles(schedule: tuple[Array, list[Shift], list[Multiply]]) -> None:
    assert cells(*schedule) == fast(*schedule)


@pytest.mark.parametrize(("size", "vectors", "last"), [(2, 2, 4), (3, 5, 9), (4, 1, 7)])
def test_the_last_result(size: int, vectors: int, last: int) -> None:
    """Oracle 31: vectors + rows + columns - 2 cycles from the first element on, its own included."""
    rng, array = np.random.default_rng(0), Array(rows=size, columns=size)
    found = cells(array, [Shift(0, integers(rng, (size, size)))], [Multiply(size, integers(rng, (vectors, size)))])
    assert max(result.cycle for result in found.values()) - size == last
    assert array.retirement_cycle(0, vectors) == last


def test_the_last_result_of_a_large_array() -> None:
    assert Array(rows=256, columns=256).retirement_cycle(0, 200) == 710


SQUARE = Array(rows=4, columns=3)


def two_tiles(second_shift: int, second_multiply: int) -> bool:
    """Whether all is right with tiles of 4 inputs and 3 outputs, the first one taken in cycle 10, the second one
    shifted in and taken as given.
    """
    rng = np.random.default_rng(0)
    shifts = [Shift(begin, integers(rng, (4, 3))) for begin in (0, second_shift)]
    multiplies = [Multiply(begin, integers(rng, (4, 4))) for begin in (10, second_multiply)]
    return cells(SQUARE, shifts, multiplies) == fast(SQUARE, shifts, multiplies)


def test_new_weights_run_behind_the_front_of_the_switch() -> None:
    """The next tile is shifted in from the very cycle on in which the one before is taken, and no cycle earlier."""
    assert two_tiles(10, 20)
    assert not two_tiles(9, 20)


def test_a_tile_is_taken_when_it_is_all_there() -> None:
    """Where vectors enough follow, switching multiplies follow each other with no cycle between them."""
    assert two_tiles(10, 14)
    assert not two_tiles(11, 14)


@pytest.mark.parametrize("begin", [11, 12, 13, 16])
def test_a_shift_beside_vectors_that_still_pass(begin: int) -> None:
    assert two_tiles(begin, begin + 4)


def test_without_switch_the_cells_keep_their_weights() -> None:
    rng = np.random.default_rng(0)
    shifts = [Shift(begin, integers(rng, (4, 3))) for begin in (0, 4)]
    multiplies = [Multiply(4 + 2 * k, integers(rng, (2, 4)), switch=k in {0, 3}) for k in range(4)]
    assert cells(SQUARE, shifts, multiplies) == fast(SQUARE, shifts, multiplies)
    wrong = [multiplies[0], replace(multiplies[1], switch=True), *multiplies[2:]]
    assert cells(SQUARE, shifts, wrong) != fast(SQUARE, shifts, multiplies)


@given(st.integers(2, 5), st.integers(1, 5), st.integers(0, 3))
@settings(max_examples=20)
def test_one_cycle_early_is_always_wrong(inputs: int, outputs: int, gap: int) -> None:
    """Weights that all differ from those of the tile before them, and from each other along a line."""
    array = Array(rows=inputs, columns=outputs)
    first = np.arange(1, inputs * outputs + 1, dtype=np.int8).reshape(inputs, outputs)
    ones = np.ones((inputs, inputs), np.int8)
    for early in range(2):
        taken = 2 * inputs + gap
        shifts = [Shift(0, first), Shift(taken - early, -2 * first)]
        multiplies = [Multiply(taken, ones), Multiply(taken + 2 * inputs, ones)]
        assert (cells(array, shifts, multiplies) == fast(array, shifts, multiplies)) is (not early)
        shifts = [Shift(0, first), Shift(taken, -2 * first)]
        multiplies = [Multiply(taken, ones[:1]), Multiply(taken + inputs - early, ones)]
        assert (cells(array, shifts, multiplies) == fast(array, shifts, multiplies)) is (not early)
