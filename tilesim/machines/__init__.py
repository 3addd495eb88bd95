"""The machines that there are, by the ``machine:`` key of a topology: what each answers the same verbs with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tilesim.machines.machine import Machine, Options
from tilesim.machines.systolic import SYSTOLIC, SystolicProgram, SystolicTopology
from tilesim.machines.tiled import TILED, TiledProgram, TiledTopology

__all__ = [
    "MACHINES", "Machine", "Options", "Program", "SystolicProgram", "SystolicTopology", "TiledProgram", "TiledTopology",
    "Topology",
]  # fmt: skip

Topology: TypeAlias = TiledTopology | SystolicTopology
Program: TypeAlias = TiledProgram | SystolicProgram

MACHINES: Mapping[str, Machine] = {"tiled": TILED, "systolic": SYSTOLIC}
"""The first is what a topology is read as that names none of them."""
