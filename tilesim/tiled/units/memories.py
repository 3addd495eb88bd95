"""A tile's two memories and their ports.

Narrow memory holds activations and has one read port and one write port. Wide memory holds parameters and partial
sums and has one port for both (``wide_memory.ports`` of them), one row an access. Who goes first at a port is in
:mod:`~tilesim.tiled.isa.model.sheet`.

Source: US 2025/0265455 [0034] (single-ported, single-banked).
"""

from __future__ import annotations

from msgspec import Struct

from tilesim.sim.core.memory import Memory
from tilesim.sim.core.port import Port, Slot
from tilesim.tiled.isa.model.accesses import OperandSizes, result_unit_bytes
from tilesim.tiled.isa.model.fields import Engine, MemoryName
from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.isa.model.sheet import CLIENTS, RANKS, PortName
from tilesim.tiled.topology import Topology


class OperandPort(Struct, frozen=True):
    """One side of a DMA: a memory as its engine uses it, an access at a time.

    Of a mesh engine an access moves ``words_per_access`` narrow words: 1, or a row's; and these cross a link in
    ``beats_per_access`` beats. If it is more than one, they pass through a register of the engine, so that the memory
    is touched with the first of them when it is read, with the last one when it is written.
    """

    memory: Memory
    slot: Slot
    access_bytes: int
    word_bytes: int
    beat_bytes: int

    @property
    def words_per_access(self) -> int:
        return self.access_bytes // self.word_bytes

    @property
    def beats_per_access(self) -> int:
        return self.access_bytes // self.beat_bytes


class TileMemories:
    """The narrow and the wide memory of one tile with their ports."""

    def __init__(self, name: str, topology: Topology, samples: int) -> None:
        self.topology = topology
        self.word_bytes = topology.narrow_memory.word_bytes
        self.row_bytes = topology.wide_memory.row_bytes
        self.beat_bytes = self.word_bytes // topology.mesh_beats

        self.register_bytes = topology.tile.register_bytes
        self.narrow = Memory(f"{name}.narrow_memory", topology.narrow_memory.size_bytes, samples)
        self.wide = Memory(f"{name}.wide_memory", topology.wide_memory.size_bytes, samples)
        self.ports = {
            PortName.NARROW_READ: self._port(f"{name}.narrow_memory.read", 1, PortName.NARROW_READ),
            PortName.NARROW_WRITE: self._port(f"{name}.narrow_memory.write", 1, PortName.NARROW_WRITE),
            PortName.WIDE: self._port(f"{name}.wide_memory", topology.wide_memory.ports, PortName.WIDE),
        }

    def slot(self, engine: Engine, field: str, memory: MemoryName) -> Slot:
        """How an engine gets at the operand in ``field``."""
        port, rank = RANKS[engine, field, memory]
        return Slot(self.ports[port], rank)

    def side(self, engine: Engine, field: str, memory: MemoryName) -> OperandPort:
        """How a DMA gets at the operand in ``field``."""
        slot = self.slot(engine, field, memory)
        if memory == MemoryName.WIDE:
            return OperandPort(self.wide, slot, self.row_bytes, self.word_bytes, self.beat_bytes)
        return OperandPort(self.narrow, slot, self.word_bytes, self.word_bytes, self.beat_bytes)

    def result_bytes(self, op: TensorOp) -> int:
        """The least of narrow memory that a result group of ``op`` writes."""
        return result_unit_bytes(self.topology, OperandSizes.of(op))

    def sum_accesses(self, op: TensorOp) -> int:
        """Accesses to wide memory that a group's sums take: they fill rows, or lie in one that is larger."""
        return -(-op.sum_registers * self.register_bytes // self.row_bytes)

    def _port(self, name: str, capacity: int, port: PortName) -> Port:
        return Port(name, capacity, len(CLIENTS[port]))
