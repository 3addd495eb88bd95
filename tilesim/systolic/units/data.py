"""What instructions do to the bytes of the chip and of its host; or nothing, where only time is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError
from tilesim.machines.program import DataSegment
from tilesim.sim.core.memory import Bytes
from tilesim.systolic.datapath.matrix import prepare_multiply
from tilesim.systolic.datapath.memories import Commit, Memories, read_tile
from tilesim.systolic.datapath.vector import prepare
from tilesim.systolic.isa.model import instructions as isa
from tilesim.systolic.topology import Topology


class Data:
    """No data: instructions take their time, and leave nothing. :class:`Carried` has some.

    Each call reads, and computes, now; what comes back writes the result when the instruction retires. No cycle depends
    on any of it.
    """

    def bring(self, _op: isa.ReadHostMemory) -> Commit:
        return _write_nothing

    def send(self, _op: isa.WriteHostMemory) -> Commit:
        return _write_nothing

    def tile(self, _op: isa.ReadWeights, _number: int) -> NDArray[Any]:
        """Tile ``number`` of those that ``op`` fetches: (inputs, outputs)."""
        return np.zeros((0, 0), np.int8)

    def multiply(self, _op: isa.MatrixMultiply, _tile: NDArray[Any]) -> Commit:
        return _write_nothing

    def compute(self, _op: isa.VectorInstruction) -> Commit:
        return _write_nothing


def _write_nothing() -> None:
    """There are no data."""


class HostMemory:
    """The host's memory: inputs and parameters on one side, outputs on the other.

    ``inputs`` are (samples, bytes) each; outputs are as long as ``output_bytes`` says, for so many samples."""

    def __init__(
        self, inputs: Sequence[Bytes], data: Sequence[DataSegment], output_bytes: Sequence[int], samples: int
    ) -> None:
        self._sources = {"input": list(inputs), "data": [segment.data.reshape(1, -1) for segment in data]}
        self.outputs: list[Bytes] = [np.zeros((samples, size), np.uint8) for size in output_bytes]
        self._come: list[NDArray[np.bool_]] = [np.zeros(size, bool) for size in output_bytes]

    def read(self, op: isa.ReadHostMemory) -> Bytes:
        """The bytes that ``op`` sends, (samples or 1, bytes)."""
        source = _numbered(self._sources[op.source], op.tensor, f"{op.label}: the host's {op.source}")
        _check(op.label, source.shape[1], op.offset, op.bytes)
        return source[:, op.offset : op.offset + op.bytes]

    def write(self, op: isa.WriteHostMemory, data: Bytes) -> None:
        """Take ``data``, (samples, bytes), for ``op``."""
        output = _numbered(self.outputs, op.tensor, f"{op.label}: the host's output")
        _check(op.label, output.shape[1], op.offset, op.bytes)
        output[:, op.offset : op.offset + op.bytes] = data
        self._come[op.tensor][op.offset : op.offset + op.bytes] = True

    def missing(self) -> list[tuple[int, int, int]]:
        """The outputs that have not come as a whole: number, bytes that have come, bytes in all."""
        counted = ((k, int(come.sum()), come.size) for k, come in enumerate(self._come))
        return [(k, come, size) for k, come, size in counted if come < size]


class Carried(Data):
    """Data as it is in ``memories`` and at the ``host``."""

    def __init__(self, topology: Topology, memories: Memories, host: HostMemory) -> None:
        self._topology = topology
        self.memories = memories
        self._host = host

    def bring(self, op: isa.ReadHostMemory) -> Commit:
        to_buffer = op.destination == "unified_buffer"
        memory = self.memories.buffer if to_buffer else self.memories.weights
        return partial(memory.write_row, op.address, self._host.read(op))

    def send(self, op: isa.WriteHostMemory) -> Commit:
        return partial(self._host.write, op, self.memories.buffer.row(op.address, op.bytes))

    def tile(self, op: isa.ReadWeights, number: int) -> NDArray[Any]:
        address = op.address + number * self._topology.weight_tile_bytes * op.weight_bytes
        return read_tile(self.memories, address, op.weight_bytes, self._topology)

    def multiply(self, op: isa.MatrixMultiply, tile: NDArray[Any]) -> Commit:
        return prepare_multiply(op, self.memories, tile)

    def compute(self, op: isa.VectorInstruction) -> Commit:
        return prepare(op, self.memories)


def _numbered(tensors: Sequence[Bytes], number: int, what: str) -> Bytes:
    if not 0 <= number < len(tensors):
        raise AccessError(f"{what} must be a number below {len(tensors)}, not {number}")
    return tensors[number]


def _check(label: str, size: int, offset: int, count: int) -> None:
    if offset < 0 or offset + count > size:
        raise AccessError(f"{label}: the host's tensor has bytes 0 to {size - 1}, not {offset} to {offset + count - 1}")
