"""Where each map stands in the data RAM, so that no two that live at once overlap."""

from __future__ import annotations

from collections.abc import Mapping

from tilesim.errors import CapacityError
from tilesim.lowering.allocation import DoesNotFit, Lifetime, allocate, allocate_by_orders, in_use
from tilesim.rotating.topology import Topology

Key = tuple[int, int]
"""A tensor, and the step in which it has a ring."""


def allocated(name: str, lives: Mapping[Key, Lifetime], topology: Topology) -> dict[Key, int]:
    """The first row of each.

    Raises:
        CapacityError: the data RAM has no room for all that live at once.
    """
    capacity, items = topology.data_ram.rows, list(lives.values())
    most = int(in_use(items).max(initial=0))
    rows = allocate_by_orders(items, capacity)
    if rows is None and most <= capacity:
        try:
            rows = allocate(items, capacity, 1)
        except DoesNotFit:
            rows = None
    if rows is None:
        raise CapacityError(
            f"{name}: maps that are needed at once must fit the data RAM of {topology.name}: they take {most:,} rows, "
            f"and there are {capacity:,}"
        )
    return dict(zip(lives, rows, strict=True))
