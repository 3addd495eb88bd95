"""What instructions do to the bytes of the chip and of its host; or nothing, where only time is asked for."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tilesim.systolic.datapath.matrix import prepare_multiply
from tilesim.systolic.datapath.memories import Commit, Memories, read_tile
from tilesim.systolic.datapath.vector import prepare
from tilesim.systolic.isa.model.instructions import (
    MatrixMultiply,
    ReadHostMemory,
    ReadWeights,
    VectorInstruction,
    WriteHostMemory,
)
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.host_memory import HostMemory


class Data(Protocol):
    """Each call reads, and computes, now; what comes back writes the result when the instruction retires. No cycle
    depends on any of it.
    """

    def bring(self, op: ReadHostMemory) -> Commit: ...

    def send(self, op: WriteHostMemory) -> Commit: ...

    def tile(self, op: ReadWeights, number: int) -> NDArray[Any]:
        """Tile ``number`` of those that ``op`` fetches: (inputs, outputs)."""
        ...

    def multiply(self, op: MatrixMultiply, tile: NDArray[Any]) -> Commit: ...

    def compute(self, op: VectorInstruction) -> Commit: ...


class Carried:
    """Data as it is in ``memories`` and at the ``host``."""

    def __init__(self, topology: Topology, memories: Memories, host: HostMemory) -> None:
        self._topology = topology
        self.memories = memories
        self._host = host

    def bring(self, op: ReadHostMemory) -> Commit:
        to_buffer = op.destination == "unified_buffer"
        memory = self.memories.buffer if to_buffer else self.memories.weights
        return partial(memory.write_row, op.address, self._host.read(op))

    def send(self, op: WriteHostMemory) -> Commit:
        return partial(self._host.write, op, self.memories.buffer.row(op.address, op.bytes))

    def tile(self, op: ReadWeights, number: int) -> NDArray[Any]:
        address = op.address + number * self._topology.weight_tile_bytes * op.weight_bytes
        return read_tile(self.memories, address, op.weight_bytes, self._topology)

    def multiply(self, op: MatrixMultiply, tile: NDArray[Any]) -> Commit:
        return prepare_multiply(op, self.memories, tile)

    def compute(self, op: VectorInstruction) -> Commit:
        return prepare(op, self.memories)


class Absent:
    """No data: instructions take their time, and leave nothing."""

    def bring(self, _op: ReadHostMemory) -> Commit:
        return _nothing

    def send(self, _op: WriteHostMemory) -> Commit:
        return _nothing

    def tile(self, _op: ReadWeights, _number: int) -> NDArray[Any]:
        return NO_TILE

    def multiply(self, _op: MatrixMultiply, _tile: NDArray[Any]) -> Commit:
        return _nothing

    def compute(self, _op: VectorInstruction) -> Commit:
        return _nothing


NO_TILE: NDArray[Any] = np.zeros((0, 0), np.int8)


def _nothing() -> None:
    """Nothing is written."""
