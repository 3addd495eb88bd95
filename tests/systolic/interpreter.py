"""The instructions of a program one after the other, without time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.core.memory import Memory
from tilesim.systolic.datapath.matrix import prepare_multiply
from tilesim.systolic.datapath.memories import Memories, read_tile
from tilesim.systolic.datapath.vector import prepare
from tilesim.systolic.isa.model.instructions import (
    Instruction,
    MatrixMultiply,
    ReadHostMemory,
    ReadWeights,
    Sync,
    VectorInstruction,
    WriteHostMemory,
)
from tilesim.systolic.isa.model.program import Program

Array = NDArray[Any]


@dataclass
class Interpreter:
    """The state of a chip, and what the host has got. ``xs`` are canonical arrays, one for each host tensor."""

    program: Program
    xs: Sequence[Array]
    fifo: deque[Array] = field(default_factory=deque)
    tile: Array = field(default_factory=lambda: np.zeros((1, 1), np.int8))

    def __post_init__(self) -> None:
        topology, samples = self.program.topology, len(self.xs[0])
        size = max([1, *(len(each.data) for each in self.program.data)])
        self.memories = Memories(
            Memory("unified buffer", topology.unified_buffer.size_bytes, samples),
            Memory("weight memory", size),
            np.zeros((samples, topology.accumulators.entries, topology.array.outputs), np.int32),
        )
        self.outputs: dict[int, dict[int, Array]] = {}
        self.tensors: dict[tuple[int, int], Array] = {}
        self.places: dict[str, list[Any]] = {}
        for place in self.program.tensors:
            self.places.setdefault(place.after, []).append(place)

    def begin(self, op: Instruction) -> Callable[[], None]:
        """Read the operands; the result writes."""
        match op:
            case ReadHostMemory():
                return self._arriving(op)
            case WriteHostMemory():
                row = self.memories.buffer.row(op.address, op.bytes)
                return lambda: self.outputs.setdefault(op.tensor, {}).update({op.offset: row})
            case ReadWeights():
                tiles = [self.fetch(op, k) for k in range(op.tiles)]
                return lambda: self.fifo.extend(tiles)
            case MatrixMultiply():
                self.tile = self.fifo.popleft() if op.switch else self.tile
                return prepare_multiply(op, self.memories, self.tile)
            case _ if isinstance(op, VectorInstruction):
                return prepare(op, self.memories)
        return lambda: None

    def fetch(self, op: ReadWeights, number: int) -> Array:
        """One of the tiles of an instruction."""
        size = self.program.topology.weight_tile_bytes * op.weight_bytes
        return read_tile(self.memories, op.address + number * size, op.weight_bytes, self.program.topology)

    def _arriving(self, op: ReadHostMemory) -> Callable[[], None]:
        if op.source == "data":
            data = self.program.data[op.tensor].data[None]
        else:
            x = np.ascontiguousarray(self.xs[op.tensor])
            data = x.reshape(len(x), -1).view(np.uint8)
        memory = self.memories.buffer if op.destination == "unified_buffer" else self.memories.weights
        part = data[:, op.offset : op.offset + op.bytes]
        assert part.shape[1] == op.bytes
        return lambda: memory.write_row(op.address, part)

    def retired(self, op: Instruction) -> None:
        """Keep the tensors that stand there now."""
        for place in self.places.get(op.label, ()):
            count = int(np.prod(place.shape)) * np.dtype(place.dtype).itemsize
            row = self.memories.buffer.row(place.address, count)
            self.tensors[place.index, place.inference] = row.view(place.dtype).reshape(-1, *place.shape[1:])

    def run(self) -> dict[tuple[int, int], Array]:
        """All in the order in which they are sent; every tensor of each inference."""
        for op in (*self.program.load, *self.program.run):
            assert isinstance(op, Sync) or op.queue is None or op.label or isinstance(op, ReadWeights)
            self.begin(op)()
            self.retired(op)
        assert not self.fifo, "every tile is used"
        return self.tensors

    def output(self, number: int) -> Array:
        """What the host has got of an output, canonical."""
        host = self.program.outputs[number]
        parts = self.outputs[number]
        data = np.concatenate([parts[offset] for offset in sorted(parts)], axis=1)
        shape = tuple(host.shape[host.axes.index(k)] for k in range(len(host.axes)))
        return data.view(host.element).reshape(-1, *shape[1:])
