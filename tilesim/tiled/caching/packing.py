"""How many descriptors it takes to bring parameters to the tiles."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from itertools import groupby
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def descriptors(order: Iterable[Item], cached: Collection[Item]) -> int:
    """How many descriptors parameters need that lie in ``order``: one for each run that is cached, or is not.

    **Source**: US 2025/0265455 [0051]-[0053].
    """
    return sum(1 for _ in groupby(order, lambda item: item in cached))
