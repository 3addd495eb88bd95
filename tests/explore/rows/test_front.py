"""The Pareto front, held against its definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from tilesim.explore.rows.front import front

SMALL = st.one_of(st.integers(0, 6).map(float), st.just(np.nan))
COSTS = st.integers(1, 4).flatmap(lambda costs: st.integers(0, 40).map(lambda points: (points, costs)))


def dominates(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return bool((a <= b).all() and (a < b).any())


@given(COSTS.flatmap(lambda shape: arrays(np.float64, shape, elements=SMALL)))
def test_the_front_is_what_nothing_dominates(costs: NDArray[np.float64]) -> None:
    known = [k for k, cost in enumerate(costs) if not np.isnan(cost).any()]
    expected = [k for k in known if not any(dominates(costs[other], costs[k]) for other in known)]
    assert np.flatnonzero(front(costs)).tolist() == expected


@given(arrays(np.float64, (30, 3), elements=st.integers(0, 9)), st.permutations(range(30)))
def test_the_order_of_the_points_does_not_matter(costs: NDArray[np.float64], order: list[int]) -> None:
    np.testing.assert_array_equal(front(costs[order]), front(costs)[order])


def test_equal_points_stay_together() -> None:
    assert front(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])).tolist() == [True, True, True, False]
