"""A tile's two memories and the priority of everybody who uses their ports.

Narrow memory holds activations and has one read port and one write port. Wide memory holds parameters and partial
sums and has one port for both (``wide_memory.ports`` of them), one row an access.

Source: US 2025/0265455 [0034] (single-ported, single-banked); the priority order is an assumption.
"""

from __future__ import annotations

from enum import IntEnum

from tilesim.sim.memory import Memory
from tilesim.sim.pipe import Slot
from tilesim.sim.port import Port
from tilesim.tiled.topology import Topology


class WideRank(IntEnum):
    """Clients of the wide port, highest priority first."""

    RING_COMMIT = 0
    RING_PRODUCER = 1
    NARROW_TO_WIDE = 2
    WIDE_TO_NARROW = 3
    SUM_WRITE = 4
    SUM_READ = 5
    WEIGHT_READ = 6


class NarrowReadRank(IntEnum):
    """Clients of the narrow read port, highest priority first."""

    MESH_OUT_NORTH = 0
    MESH_OUT_EAST = 1
    MESH_OUT_SOUTH = 2
    MESH_OUT_WEST = 3
    NARROW_TO_WIDE = 4
    TENSOR = 5


class NarrowWriteRank(IntEnum):
    """Clients of the narrow write port, highest priority first."""

    MESH_IN_NORTH = 0
    MESH_IN_EAST = 1
    MESH_IN_SOUTH = 2
    MESH_IN_WEST = 3
    WIDE_TO_NARROW = 4
    OUTPUT = 5


class TileMemories:
    """The narrow and the wide memory of one tile with their ports."""

    def __init__(self, name: str, topology: Topology, samples: int) -> None:
        self.word_bytes = topology.narrow_memory.word_bytes
        self.row_bytes = topology.wide_memory.row_bytes
        self.narrow = Memory(f"{name}.narrow_memory", topology.narrow_memory.size_bytes, samples)
        self.wide = Memory(f"{name}.wide_memory", topology.wide_memory.size_bytes, samples)
        self.narrow_read = Port(f"{name}.narrow_memory.read", 1, len(NarrowReadRank))
        self.narrow_write = Port(f"{name}.narrow_memory.write", 1, len(NarrowWriteRank))
        self.wide_port = Port(f"{name}.wide_memory", topology.wide_memory.ports, len(WideRank))

    def reading(self, rank: NarrowReadRank) -> Slot:
        return Slot(self.narrow_read, rank)

    def writing(self, rank: NarrowWriteRank) -> Slot:
        return Slot(self.narrow_write, rank)

    def wide_access(self, rank: WideRank) -> Slot:
        return Slot(self.wide_port, rank)
