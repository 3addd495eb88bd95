"""In which order parameters lie in data memory, so that few descriptors can bring them to the tiles."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from itertools import groupby
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def packed(order: Iterable[Item], cached: Collection[Item]) -> tuple[Item, ...]:
    """All that is cached, then all that is not, each in the order in which it is used.

    **Source**: US 2025/0265455 [0051]-[0053].
    """
    return tuple(sorted(order, key=lambda item: item not in cached))


def descriptors(order: Iterable[Item], cached: Collection[Item]) -> int:
    """How many descriptors parameters need that lie in ``order``: one for each run that is cached, or is not."""
    return sum(1 for _ in groupby(order, lambda item: item in cached))
