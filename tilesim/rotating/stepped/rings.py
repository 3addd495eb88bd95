"""Where words go when they rotate: to the unit further on in their ring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.topology import Topology


def rings(topology: Topology) -> list[list[int]]:
    """The units of each ring, in the order in which words go up."""
    count, units = topology.units.count, list(range(topology.units.count))
    if topology.units.segments == 1:
        return [units]
    first = count // 4 if topology.units.segment_shift == "quarter" else 0
    turned = units[first:] + units[:first]
    return [turned[: count // 2], turned[count // 2 :]]


def taken_from(topology: Topology, distance: int) -> NDArray[np.intp]:
    """Of each unit, the one whose word it has after a rotation by ``distance``."""
    back = distance if topology.rotation.direction == "up" else -distance
    origin = np.empty(topology.units.count, np.intp)
    for ring in rings(topology):
        for place, unit in enumerate(ring):
            origin[unit] = ring[(place - back) % len(ring)]
    return origin
