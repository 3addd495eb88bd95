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


def allocate(items: list[Lifetime], capacity: int, alignment: int) -> list[int]:
    """An address for each item, largest items first, each in the lowest gap that takes it.

    Raises:
        DoesNotFit: an item finds no gap.
    """
    placed: dict[int, int] = {}
    for k in sorted(range(len(items)), key=lambda k: (-items[k].size, items[k].first, k)):
        neighbours = sorted((placed[j], placed[j] + items[j].size) for j in placed if items[j].meets(items[k]))
        placed[k] = _lowest_gap(items[k], neighbours, capacity, alignment)
    return [placed[k] for k in range(len(items))]


def _lowest_gap(item: Lifetime, taken: list[tuple[int, int]], capacity: int, alignment: int) -> int:
    address, free = 0, 0
    for start, end in [*taken, (capacity, capacity)]:
        free = max(free, start - address)
        if address + item.size <= start:
            return address
        address = max(address, -(-end // alignment) * alignment)
    raise DoesNotFit(item, free)
