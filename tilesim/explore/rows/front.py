"""The Pareto front: the points that no other beats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DEFINITION = (
    "A point is dominated if another one of the same network is at least as good in every chosen measure and better in "
    "one of them. The front is what is left; points that are equal in all chosen measures stay on it together."
)


def front(costs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(point): which are on the front, of (point, cost); a point without one of its costs, not a number, is not."""
    known = ~np.isnan(costs).any(axis=1)
    on_front = np.zeros(len(costs), np.bool_)
    on_front[known] = _undominated(costs[known])
    return on_front


def _undominated(costs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """In the order of the costs only a point before it can dominate a point, and then one of the front does."""
    order = np.lexsort(costs.T[::-1])
    kept = np.zeros(len(costs), np.bool_)
    best, count = np.empty_like(costs), 0
    for point in order:
        before, cost = best[:count], costs[point]
        not_worse = before[(before <= cost).all(axis=1)]
        if not (not_worse < cost).any():
            kept[point] = True
            best[count] = cost
            count += 1
    return kept
