"""Places in the unified buffer for what lives there for a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Life:
    """Something of ``size`` bytes that is there from turn ``first`` to turn ``last``, both included."""

    size: int
    first: int
    last: int


def allocate(lives: Sequence[Life], capacity: int) -> list[int] | None:
    """An address for each, so that none that live at once overlap: the largest first, each as low as it can be. None if
    there is no room.
    """
    order = sorted(range(len(lives)), key=lambda k: (-lives[k].size, lives[k].first, k))
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


def in_use(lives: Sequence[Life], turns: int) -> NDArray[np.int64]:
    """The bytes that live in each turn."""
    change = np.zeros(turns + 1, np.int64)
    for life in lives:
        change[life.first] += life.size
        change[life.last + 1] -= life.size
    return np.cumsum(change)[:turns]
