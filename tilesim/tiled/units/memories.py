"""A tile's two memories and the priority of everybody who uses their ports.

Narrow memory holds activations and has one read port and one write port. Wide memory holds parameters and partial
sums and has one port for both (``wide_memory.ports`` of them), one row an access.

Source: US 2025/0265455 [0034] (single-ported, single-banked); the priority order is an assumption.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from tilesim.sim.core.action import Action
from tilesim.sim.core.memory import Memory
from tilesim.sim.core.port import Port
from tilesim.sim.pipe.pipe import Slot
from tilesim.tiled.isa.model.fields import MemoryName, Side
from tilesim.tiled.topology import Topology


class WideRank(IntEnum):
    """Clients of the wide port, highest priority first; the mesh's only where it joins wide memories."""

    RING_COMMIT = 0
    RING_PRODUCER = 1
    MESH_IN_NORTH = 2
    MESH_IN_EAST = 3
    MESH_IN_SOUTH = 4
    MESH_IN_WEST = 5
    MESH_OUT_NORTH = 6
    MESH_OUT_EAST = 7
    MESH_OUT_SOUTH = 8
    MESH_OUT_WEST = 9
    NARROW_TO_WIDE = 10
    WIDE_TO_NARROW = 11
    SUM_WRITE = 12
    SUM_READ = 13
    WEIGHT_READ = 14


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


@dataclass(frozen=True)
class WordPort:
    """A memory as a mesh engine uses it: narrow words, one a cycle.

    An access moves ``words_per_access`` of them: 1, or a row's, which then pass through a register of the engine, so
    that the memory is touched with the first of them when it is read, with the last one when it is written. ``read``
    and ``write`` are what an access is.
    """

    memory: Memory
    slot: Slot
    words_per_access: int
    word_bytes: int
    read: Action
    write: Action

    @property
    def access_bytes(self) -> int:
        return self.words_per_access * self.word_bytes


class TileMemories:
    """The narrow and the wide memory of one tile with their ports."""

    def __init__(self, name: str, topology: Topology, samples: int) -> None:
        self.word_bytes = topology.narrow_memory.word_bytes
        self.row_bytes = topology.wide_memory.row_bytes
        self._mesh_destination = MemoryName(topology.mesh.destination)
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

    def mesh_out(self, memory: MemoryName, side: Side) -> WordPort:
        """What the mesh-out engine at ``side`` reads."""
        name = f"MESH_OUT_{side.name}"
        slot = self.wide_access(WideRank[name]) if memory == MemoryName.WIDE else self.reading(NarrowReadRank[name])
        return self._word_port(memory, slot)

    def mesh_in(self, side: Side) -> WordPort:
        """What the mesh-in engine at ``side`` writes."""
        name, memory = f"MESH_IN_{side.name}", self._mesh_destination
        slot = self.wide_access(WideRank[name]) if memory == MemoryName.WIDE else self.writing(NarrowWriteRank[name])
        return self._word_port(memory, slot)

    def _word_port(self, memory: MemoryName, slot: Slot) -> WordPort:
        wide = memory == MemoryName.WIDE
        words = self.row_bytes // self.word_bytes if wide else 1
        read, write = (Action.WIDE_READ, Action.WIDE_WRITE) if wide else (Action.NARROW_READ, Action.NARROW_WRITE)
        return WordPort(self.wide if wide else self.narrow, slot, words, self.word_bytes, read, write)
