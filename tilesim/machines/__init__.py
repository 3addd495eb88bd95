"""The machines that there are, by the ``machine:`` key of a topology: what each answers the same verbs with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tilesim.machines.machine import Machine, Options
from tilesim.machines.systolic import SYSTOLIC
from tilesim.machines.tiled import TILED
from tilesim.systolic.isa.model.program import HostTensor as SystolicHostTensor
from tilesim.systolic.isa.model.program import Program as SystolicProgram
from tilesim.systolic.topology import Topology as SystolicTopology
from tilesim.tiled.isa.model.program import HostTensor as TiledHostTensor
from tilesim.tiled.isa.model.program import Program as TiledProgram
from tilesim.tiled.topology import Topology as TiledTopology

__all__ = [
    "MACHINES", "HostTensor", "Machine", "Options", "Program", "SystolicProgram", "SystolicTopology", "TiledProgram",
    "TiledTopology", "Topology",
]  # fmt: skip

Topology: TypeAlias = TiledTopology | SystolicTopology
Program: TypeAlias = TiledProgram | SystolicProgram
HostTensor: TypeAlias = TiledHostTensor | SystolicHostTensor

MACHINES: Mapping[str, Machine] = {"tiled": TILED, "systolic": SYSTOLIC}
"""The first is what a topology is read as that names none of them."""
