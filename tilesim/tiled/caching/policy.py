"""What the user says about which parameters are to be cached."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CachePolicy:
    """Whether parameters stay in the tiles at all, and who gets room first: networks by number, layers by network and
    number, both in descending order (see :func:`~tilesim.tiled.caching.order.order_of`).
    """

    cache: bool = True
    network_priority: tuple[int, ...] = ()
    layer_priority: tuple[tuple[int, int], ...] = ()


CACHE = CachePolicy()
"""First come first served, as much as there is room for."""
