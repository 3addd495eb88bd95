"""Places in the unified buffer for what lives there for a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Lifetime:
    """Something of ``size`` bytes that is there from turn ``first`` to turn ``last``, both included."""

    size: int
    first: int
    last: int


ORDERS: tuple[Callable[[Lifetime], tuple[int, ...]], ...] = (
    lambda life: (-life.size, life.first),
    lambda life: (-life.size * (life.last - life.first + 1), life.first),
    lambda life: (life.first - life.last, -life.size, life.first),
    lambda life: (life.first, -life.size),
)
"""Who finds a place first: the largest; what takes most of place and time; what lives longest; what comes first."""


def allocate(lives: Sequence[Lifetime], capacity: int) -> list[int] | None:
    """An address for each, so that none that live at once overlap, in the first order in which all find one, each as
    low as it can be. None if there is no such order.
    """
    if in_use(lives).max(initial=0) > capacity:
        return None
    orders = (sorted(range(len(lives)), key=lambda k: (*order(lives[k]), k)) for order in ORDERS)
    return next((found for order in orders if (found := _allocate(lives, capacity, order)) is not None), None)


def _allocate(lives: Sequence[Lifetime], capacity: int, order: Sequence[int]) -> list[int] | None:
    placed = np.zeros((len(lives), 4), np.int64)  # first, last, address, end
    found = [0] * len(lives)
    for number, k in enumerate(order):
        life, before = lives[k], placed[:number]
        meeting = before[(before[:, 0] <= life.last) & (before[:, 1] >= life.first)]
        address = _lowest(life.size, meeting[:, 2:])
        if address + life.size > capacity:
            return None
        placed[number] = life.first, life.last, address, address + life.size
        found[k] = address
    return found


def _lowest(size: int, taken: NDArray[np.int64]) -> int:
    """The lowest gap between the places that are taken, (address, end) each."""
    if not len(taken):
        return 0
    taken = taken[np.argsort(taken[:, 0], kind="stable")]
    ends = np.concatenate([[0], np.maximum.accumulate(taken[:, 1])])
    gaps = np.append(taken[:, 0] - ends[:-1], size)
    return int(ends[int(np.argmax(gaps >= size))])


def in_use(lives: Sequence[Lifetime]) -> NDArray[np.int64]:
    """The bytes that live in each turn."""
    turns = max((life.last + 1 for life in lives), default=0)
    change = np.zeros(turns + 1, np.int64)
    for life in lives:
        change[life.first] += life.size
        change[life.last + 1] -= life.size
    return np.cumsum(change)[:turns]
