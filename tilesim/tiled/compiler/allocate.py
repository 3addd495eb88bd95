"""Addresses for things that live for a while, so that no two that live at once overlap."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lifetime:
    """Something of ``size`` bytes that is needed from step ``first`` to step ``last``, both included."""

    name: str
    size: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class DoesNotFit(Exception):
    """``item`` found no place; ``free`` is the largest gap that was left."""

    item: Lifetime
    free: int


ROUNDS = 64
"""How many orders are tried."""


def allocate(items: list[Lifetime], capacity: int, alignment: int) -> list[int]:
    """An address for each item, largest items first, each in the lowest gap that takes it. An item that finds none goes
    first in the next round.

    Raises:
        DoesNotFit: what found no gap in the first of many rounds.
    """
    order = sorted(range(len(items)), key=lambda k: (-items[k].size, items[k].first, k))
    faults: list[DoesNotFit] = []
    while len(faults) < ROUNDS:
        placed: dict[int, int] = {}
        try:
            for k in order:
                placed[k] = _place(items, placed, k, capacity, alignment)
            return [placed[k] for k in range(len(items))]
        except DoesNotFit as error:
            faults.append(error)
            order.insert(0, order.pop(len(placed)))
    raise faults[0]


def _place(items: list[Lifetime], placed: dict[int, int], k: int, capacity: int, alignment: int) -> int:
    neighbours = sorted((address, address + items[j].size) for j, address in placed.items() if items[j].meets(items[k]))
    return _lowest_gap(items[k], neighbours, capacity, alignment)


def _lowest_gap(item: Lifetime, taken: list[tuple[int, int]], capacity: int, alignment: int) -> int:
    address, free = 0, 0
    for start, end in [*taken, (capacity, capacity)]:
        free = max(free, start - address)
        if address + item.size <= start:
            return address
        address = max(address, -(-end // alignment) * alignment)
    raise DoesNotFit(item, free)
