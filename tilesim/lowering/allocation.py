"""Addresses for things that live for a while, so that no two that live at once overlap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Lifetime(Struct, frozen=True):
    """Something of ``size`` bytes that is needed from step ``first`` to step ``last``, both included."""

    size: int
    first: int
    last: int
    name: str = ""

    def meets(self, other: Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class DoesNotFit(Exception):
    """``item`` found no place; ``free`` is the largest gap that was left."""

    item: Lifetime
    free: int


ORDERS: tuple[Callable[[Lifetime], tuple[int, ...]], ...] = (
    lambda life: (-life.size, life.first),
    lambda life: (-life.size * (life.last - life.first + 1), life.first),
    lambda life: (life.first - life.last, -life.size, life.first),
    lambda life: (life.first, -life.size),
)
"""Who finds a place first: the largest; what takes most of place and time; what lives longest; what comes first."""
ROUNDS = 64
"""How often what finds no place may go first."""


def allocate_by_orders(items: Sequence[Lifetime], capacity: int) -> list[int] | None:
    """An address for each item in the first of :data:`ORDERS` in which all find one. None if there is no such order."""
    if in_use(items).max(initial=0) > capacity:
        return None
    for order in ORDERS:
        addresses, fault = _placed(items, _sorted(items, order), capacity, 1)
        if fault is None:
            return list(addresses.values())
    return None


def allocate(items: Sequence[Lifetime], capacity: int, alignment: int) -> list[int]:
    """An address for each item, largest items first. An item that finds none goes first in the next round.

    Raises:
        DoesNotFit: what found no gap in the first of many rounds.
    """
    order, faults = _sorted(items, ORDERS[0]), list[DoesNotFit]()
    while len(faults) < ROUNDS:
        addresses, fault = _placed(items, order, capacity, alignment)
        if fault is None:
            return list(addresses.values())
        faults.append(fault)
        order.insert(0, order.pop(len(addresses)))
    raise faults[0]


def _sorted(items: Sequence[Lifetime], order: Callable[[Lifetime], tuple[int, ...]]) -> list[int]:
    return sorted(range(len(items)), key=lambda k: (*order(items[k]), k))


def _placed(
    items: Sequence[Lifetime], order: Sequence[int], capacity: int, alignment: int
) -> tuple[dict[int, int], DoesNotFit | None]:
    """The address of each item, in the order of the items, each in the lowest gap that takes it; or of those before the
    first that finds none, and that one.
    """
    placed = np.zeros((len(items), 4), np.int64)  # first, last, address, aligned end
    addresses: dict[int, int] = {}
    for number, k in enumerate(order):
        item, before = items[k], placed[:number]
        meeting = before[(before[:, 0] <= item.last) & (before[:, 1] >= item.first), 2:]
        meeting = meeting[np.argsort(meeting[:, 0], kind="stable")]
        starts = np.maximum.accumulate(np.append(0, meeting[:, 1]))
        gaps = np.append(meeting[:, 0], capacity) - starts
        first = int(np.argmax(gaps >= item.size))
        if gaps[first] < item.size:
            return addresses, DoesNotFit(item, max(0, int(gaps.max())))
        address = addresses[k] = int(starts[first])
        placed[number] = item.first, item.last, address, -(-(address + item.size) // alignment) * alignment
    return dict(sorted(addresses.items())), None


def in_use(items: Sequence[Lifetime]) -> NDArray[np.int64]:
    """The bytes that live in each step."""
    steps = max((item.last + 1 for item in items), default=0)
    change = np.zeros(steps + 1, np.int64)
    for item in items:
        change[item.first] += item.size
        change[item.last + 1] -= item.size
    return np.cumsum(change)[:steps]
