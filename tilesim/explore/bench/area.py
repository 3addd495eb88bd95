"""A proxy of a chip's area: its MACs, the bytes of its memories and of its links, times a table of what each takes.

The table, ``area.yaml``, gives every entry its source, as ``energy.json`` does. Which keys of a chip make up which part
is data of its machine (:class:`~tilesim.machines.description.AreaPart`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod
from operator import attrgetter
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tilesim.config import ConfigSection, load
from tilesim.machines.description import AreaPart
from tilesim.machines.topology import Topology
from tilesim.registry import description_of

UM2_PER_MM2 = 10**6
DIGITS = 6
"""Of square millimetres, behind the point."""


class AreaCost(ConfigSection):
    """What one of something takes."""

    um2: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False, description="area in square micrometres")]
    per: Annotated[str, Field(description="what it is the area of, such as a byte")]
    technology: Annotated[str, Field(description="process that it holds for")]
    source: Annotated[str, Field(description="who says so")]


class Entries(ConfigSection):
    """What each part of a chip takes."""

    mac: AreaCost
    sram_1_port: AreaCost
    sram_2_ports: AreaCost
    link: AreaCost


@lru_cache(maxsize=1)
def table() -> Mapping[str, AreaCost]:
    """The table that comes with tilesim."""
    entries = load(Path(__file__).with_name("area.yaml"), Entries)
    return {name: getattr(entries, name) for name in Entries.model_fields}


def area_of(topology: Topology) -> dict[str, float]:
    """Square millimetres of each part of a chip that its machine describes."""
    parts = description_of(topology.machine).area
    return {part.words: round(_count(part, topology) * _cost(part, topology) / UM2_PER_MM2, DIGITS) for part in parts}


def _count(part: AreaPart, topology: Topology) -> int:
    return part.times * prod(int(attrgetter(key)(topology)) for key in part.keys)


def _cost(part: AreaPart, topology: Topology) -> float:
    """Square micrometres of one."""
    if part.kind != "sram":
        return table()[part.kind].um2
    ports: int = part.ports if isinstance(part.ports, int) else attrgetter(part.ports)(topology)
    return table()["sram_1_port" if ports == 1 else "sram_2_ports"].um2
