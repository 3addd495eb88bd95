"""The Pareto front: the points that no other beats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tilesim.report.exploration.measures import Measure

DEFINITION = (
    "A point is dominated if another one of the same network is at least as good in every chosen measure and better in "
    "one of them. The front is what is left; points that are equal in all chosen measures stay on it together."
)


def front(measures: Sequence[Measure], of: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """(point): which are on the front of so many measures, of the points in ``of``; a point without one of them is
    not.
    """
    costs = np.stack([-each.values if each.better == "higher" else each.values for each in measures], axis=1)
    candidates = ~np.isnan(costs).any(axis=1)
    if of is not None:
        candidates &= of
    chosen = np.flatnonzero(candidates)
    on_front = np.zeros(len(costs), np.bool_)
    on_front[chosen[undominated(costs[chosen])]] = True
    return on_front


def undominated(costs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(point): whether no other point is at most as much in all of its (point, cost) and less in one.

    In the order of the costs a point can only be dominated by one before it, and then by one of the front.
    """
    order = np.lexsort(costs.T[::-1])
    kept = np.zeros(len(costs), np.bool_)
    best = np.empty_like(costs)
    count = 0
    for point in order:
        before, cost = best[:count], costs[point]
        not_worse = (before <= cost).all(axis=1)
        if not (before[not_worse] < cost).any():
            kept[point] = True
            best[count] = cost
            count += 1
    return kept
