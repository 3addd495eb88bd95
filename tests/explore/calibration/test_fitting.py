"""Least squares find the numbers that made-up points come from, with few runs, and say which the points determine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isinf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilesim.explore.calibration.fitting import MOST_ROUNDS, NOTICED, Evaluate, Reals, Values, determinations, fit
from tilesim.explore.calibration.keys import FittedKey

WHOLE = FittedKey("rate", 400, "", 1)
TIME = FittedKey("time", 100, "", 1)
BYTES = np.array([1e4, 1e5, 1e6])


def link(values: Sequence[float]) -> Reals:
    """What so many bytes take at a rate, after a fixed time."""
    rate, time = values
    return np.asarray(time + BYTES / rate)


def against(published: Reals, model: Callable[[Sequence[float]], Reals], tried: list[Values] | None = None) -> Evaluate:
    def evaluate(chips: Sequence[Values]) -> list[Reals | None]:
        if tried is not None:
            tried.extend(chips)
        return [model(chip) / published - 1 for chip in chips]

    return evaluate


@given(st.integers(50, 5000), st.integers(10, 1000))
@settings(max_examples=30, deadline=None)
def test_what_made_the_points_is_found(rate: int, time: int) -> None:
    tried: list[Values] = []
    found = fit((WHOLE, TIME), (400, 100), against(link((rate, time)), link, tried))
    assert found is not None
    assert found.settled
    assert found.values == pytest.approx((rate, time), rel=0.01)
    assert np.abs(found.errors).max() < 0.01
    assert len(tried) <= 1 + MOST_ROUNDS * 7


def test_what_is_best_already_costs_a_round() -> None:
    tried: list[Values] = []
    found = fit((WHOLE, TIME), (400, 100), against(link((400, 100)), link, tried))
    assert found is not None
    assert (found.values, found.rounds, found.settled) == ((400, 100), 1, True)
    assert tried == [(400, 100), (420, 100), (400, 105)]


def test_powers_of_two_stay_powers_of_two() -> None:
    width = FittedKey("width", 8, "", 1, powers=True)
    found = fit((width,), (8,), against(np.array([10.0, 7.0]), lambda values: np.array([2.0, 1.5]) + 256 / values[0]))
    assert found is not None
    assert found.values == (32,)


def test_others_make_up_for_a_key_that_cannot_move_by_so_little() -> None:
    """Of width and time, 9 and 100 would be exact; but the width has to stay 8, and the time shrinks for it."""

    def model(values: Sequence[float]) -> Reals:
        width, time = values
        return np.array([time + 8000 / width, time + 80 / width])

    keys, published = (FittedKey("width", 8, "", 1, powers=True), TIME), model((9, 100))
    found = fit(keys, (8, 130), against(published, model))
    assert found is not None
    weights = 1 / published**2
    best = float(np.sum(weights * (published - np.array([1000, 10]))) / np.sum(weights))
    assert found.values == (8, pytest.approx(best, abs=1))


def test_steps_that_points_do_not_feel_become_larger() -> None:
    """Whole cycles hide what 5 % of a key do."""
    coarse = against(np.array([9.0]), lambda values: np.ceil(np.array([values[0]]) / 100))
    found = fit((WHOLE,), (450,), coarse)
    assert found is not None
    assert 800 < found.values[0] <= 900


def test_numbers_that_need_not_be_whole_are_not_rounded() -> None:
    found = fit((FittedKey("x", 1.0, ""),), (1.0,), against(np.array([2.5]), lambda values: np.array([values[0]])))
    assert found is not None
    assert found.values[0] == pytest.approx(2.5, rel=1e-4)


def test_a_chip_that_refuses_is_gone_around() -> None:
    """Above 410 nothing runs: slopes are taken downwards, steps get shorter."""
    refusing = lambda chips: [None if chip[0] > 410 else np.array([chip[0] / 409 - 1]) for chip in chips]  # noqa: E731
    found = fit((WHOLE,), (400,), refusing)
    assert found is not None
    assert found.values == (409,)
    assert fit((WHOLE,), (500,), refusing) is None, "nothing to begin from"


def test_a_key_without_effect_stays_and_is_not_determined() -> None:
    found = fit(
        (WHOLE, TIME), (400, 100), against(np.array([5.0, 9.0]), lambda values: np.array([5.0, 9.0]) * values[0] / 300)
    )
    assert found is not None
    assert found.values == (300, 100)
    rate, time = determinations(found.slopes)
    assert (rate.kind, time.kind, time.alone, time.together) == ("alone", "not", inf, inf)


def test_two_keys_that_do_the_same_are_determined_together_only() -> None:
    """The points know their product alone: both move by as much, and there is no end of such pairs."""
    product = against(np.array([2.0, 3.0]), lambda values: np.array([2.0, 3.0]) * values[0] * values[1] / 80_000)
    found = fit((WHOLE, TIME), (400, 100), product)
    assert found is not None
    assert found.values[0] * found.values[1] == pytest.approx(80_000, rel=0.01)
    one, other = determinations(found.slopes)
    assert (one.kind, one.partners, other.kind, other.partners) == ("together", (1,), "together", (0,))
    assert one.alone == pytest.approx(0.01, rel=0.1)


def test_by_how_much_a_key_is_determined_is_its_docstring_s_formula() -> None:
    slopes = np.array([[0.5, 0.1], [0.0, 0.3], [0.2, 0.0]])
    inverse = np.linalg.inv(slopes.T @ slopes)
    for k, found in enumerate(determinations(slopes)):
        alone = NOTICED * 3**0.5 / np.linalg.norm(slopes[:, k])
        together = NOTICED * (3 * inverse[k, k]) ** 0.5
        assert found.alone == pytest.approx(np.expm1(alone))
        assert found.together == pytest.approx(np.expm1(together))
        moved = slopes @ (np.eye(2)[k] * alone)
        assert np.sqrt(np.mean(moved**2)) == pytest.approx(NOTICED), "that is what it means"


def test_nothing_is_determined_by_points_that_do_not_move() -> None:
    [found] = determinations(np.zeros((2, 1)))
    assert isinf(found.alone)
    assert found.kind == "not"
