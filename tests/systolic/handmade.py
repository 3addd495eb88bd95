"""Programs written by hand, an instruction at a time, for tests of the units and of whole runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.program import DataSegment
from tilesim.sim.trace.recorder import Recorder
from tilesim.systolic.isa.model.instructions import (
    Activate,
    Halt,
    Instruction,
    MatrixMultiply,
    Queue,
    ReadHostMemory,
    ReadWeights,
    Scale,
    Sync,
    Window,
    WriteHostMemory,
)
from tilesim.systolic.isa.model.program import HostTensor, Layer, Program
from tilesim.systolic.run.simulate import memories_of
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.chip import Chip
from tilesim.systolic.units.data import Carried, HostMemory

Array = NDArray[Any]
SCALE = Scale("single", 0, 0, (-32768, 32767))
TIMES_ONE = (0, 1 << 30, 1)
"""Bias, multiplier, shift of a sum that stays as it is."""


def topology(rows: int = 4, columns: int | None = None, **keys: Any) -> Topology:
    """A small chip, a byte of weights a cycle for each column, unless ``keys`` say otherwise."""
    columns = columns or rows
    base: dict[str, Any] = {
        "clock_hz": 100_000_000,
        "array": {"rows": rows, "columns": columns},
        "host": {"bytes_per_cycle": 4, "latency_cycles": 0, "instruction_bytes_per_cycle": 1 << 16},
        "sequencer": {"pipeline_cycles": 1, "queue_depth": 8},
        "unified_buffer": {"size_bytes": 1 << 20, "width_bytes": 4 * columns},
        "weight_memory": {
            "size_bytes": 1 << 24, "clock_hz": 100_000_000, "channels": 1, "channel_bytes": columns,
        },
        "accumulators": {"entries": 64},
        "vector_unit": {"lanes": columns, "pipeline_cycles": 2},
    }  # fmt: skip
    for key, value in keys.items():
        base[key] = {**base[key], **value} if isinstance(value, dict) and key in base else value
    return Topology(machine="systolic", name="handmade", **base)


def tpu(**keys: Any) -> Topology:
    """The defaults, which are those of TPU v1, with instructions that are there at once."""
    return Topology(machine="systolic", name="tpu", **{"host": {"instruction_bytes_per_cycle": 1 << 16}, **keys})


def vectors_at(address: int, count: int, elements: int, element_bytes: int = 1) -> Window:
    """``count`` vectors of so many elements, one behind the other."""
    row = elements * element_bytes
    return Window(address, 1, count * row, 1, count, count * row, row, elements, 1, count)


def multiply(address: int = 0, vectors: int = 1, elements: int = 1, **fields: Any) -> MatrixMultiply:
    fields = {"rows": elements, "columns": 1, "switch": False, **fields}
    return MatrixMultiply(window=vectors_at(address, vectors, elements), vectors=vectors, **fields)


@dataclass
class Listing:
    """Instructions in order, labelled by their queue and number behind a ``prefix``; ``counts`` are those of the
    queues.
    """

    prefix: str = ""
    ops: list[Instruction] = field(default_factory=list)
    counts: Counter[Queue] = field(default_factory=Counter)

    def add(self, op: Instruction) -> int:
        """Append ``op``: how many of its queue there are with it."""
        if op.queue is None:
            self.ops.append(replace(op, label=op.label or self.prefix + op.mnemonic))
            return 0
        label = op.label or f"{self.prefix}{op.queue}.{self.counts[op.queue]}"
        self.ops.append(replace(op, label=label))
        self.counts[op.queue] += 1
        return self.counts[op.queue]

    def sync(self, unit: Queue, until: Queue, count: int, layer: int = -1) -> None:
        self.add(Sync(unit=unit, until=until, count=count, layer=layer))

    def halt(self) -> tuple[Instruction, ...]:
        self.add(Halt())
        return tuple(self.ops)


def chip_of(
    chip: Topology, inputs: list[Array] | None = None, data: list[Array] | None = None, output_bytes: int = 1 << 12
) -> Chip:
    """A chip without a program, the host's tensors beside it."""
    sent = [array.reshape(1, -1).view(np.uint8) for array in inputs or []]
    segments = [DataSegment(f"d{k}", array.reshape(-1).view(np.uint8)) for k, array in enumerate(data or [])]
    host = HostMemory(sent, segments, [output_bytes], 1)
    whole = Program("none", chip, (), (ReadWeights(tiles=64, weight_bytes=2),))
    return Chip(chip, Carried(chip, memories_of(whole, 1), host), Recorder())


def times(chip: Chip, *ops: Instruction, labels: tuple[str, ...] = ()) -> dict[str, tuple[int, int]]:
    """Run ``ops`` and a halt: cycles in which each began and retired."""
    listing = Listing()
    for op in ops:
        listing.add(op)
    run = chip.run("run", listing.halt())
    assert chip.sequencer.halted
    found = {label: (begin - run.start, chip.retirement.retired[label] - run.start)
             for label, begin in chip.retirement.begun.items()}  # fmt: skip
    return {label: found[label] for label in labels} if labels else found


def tiles_of(chip: Topology, w: Array) -> list[Array]:
    """The portions of a matrix (inputs, outputs), column block by column block, each as large as the array."""
    inputs, outputs = chip.array.inputs, chip.array.outputs
    blocks = -(-w.shape[0] // inputs), -(-w.shape[1] // outputs)
    whole = np.zeros((blocks[0] * inputs, blocks[1] * outputs), w.dtype)
    whole[: w.shape[0], : w.shape[1]] = w
    split = whole.reshape(blocks[0], inputs, blocks[1], outputs).transpose(2, 0, 1, 3)
    return list(split.reshape(-1, inputs, outputs))


def dense(chip: Topology, w: Array, batch: int) -> Program:
    """``batch`` vectors of int8 times ``w``, int8 or int16, layer 0; sums as int16 to the host."""
    (k_size, n_size), inputs, outputs = w.shape, chip.array.inputs, chip.array.outputs
    weight_bytes = w.itemsize
    tiles = tiles_of(chip, w)
    weights = np.concatenate([tile.reshape(-1).view(np.uint8) for tile in tiles])
    widths = [min(outputs, n_size - first) for first in range(0, n_size, outputs)]
    parameters = np.concatenate([np.repeat(np.array(TIMES_ONE, np.int32), width) for width in widths]).view(np.uint8)
    x_at, y_at, p_at = 0, batch * k_size, batch * k_size + 2 * batch * n_size

    load = Listing("load.")
    load.add(ReadHostMemory(source="data", tensor=0, destination="weight_memory", bytes=weights.size))
    load.add(ReadHostMemory(source="data", tensor=1, address=p_at, bytes=parameters.size))

    run = Listing()
    come = run.add(ReadHostMemory(source="input", address=x_at, bytes=batch * k_size))
    run.sync(Queue.MATRIX, Queue.DMA_IN, come, layer=0)
    half = chip.accumulators.entries // 2
    activated: list[int] = []
    tile = 0
    for block, first in enumerate(range(0, n_size, outputs)):
        columns = widths[block]
        if block > 1:
            run.sync(Queue.MATRIX, Queue.VECTOR, activated[block - 2], layer=0)
        for row in range(0, k_size, inputs):
            run.add(ReadWeights(address=tile * inputs * outputs * weight_bytes, weight_bytes=weight_bytes, layer=0))
            tile += 1
            done = run.add(
                MatrixMultiply(
                    window=vectors_at(x_at, batch, k_size), vectors=batch, first_row=row,
                    rows=min(inputs, k_size - row), columns=columns, accumulator=block % 2 * half, accumulate=row > 0,
                    weights="int8" if weight_bytes == 1 else "int16", layer=0,
                )
            )  # fmt: skip
        run.sync(Queue.VECTOR, Queue.MATRIX, done, layer=0)
        scale = replace(SCALE, parameters=p_at + 12 * first)
        activated.append(
            run.add(
                Activate(
                    accumulator=block % 2 * half, vectors=batch, columns=columns, scale=scale, element="int16",
                    address=y_at + 2 * first, stride_bytes=2 * n_size, layer=0,
                )
            )
        )  # fmt: skip
    run.sync(Queue.DMA_OUT, Queue.VECTOR, activated[-1])
    run.add(WriteHostMemory(address=y_at, bytes=2 * batch * n_size))
    layer = Layer("dense", "fully connected", batch * k_size * n_size, "array", batch, k_size, n_size)
    return Program(
        "handmade", chip, load.halt(), run.halt(), (DataSegment("w", weights), DataSegment("p", parameters)),
        (HostTensor("x", 0, "int8", (batch, k_size), (0, 1), "int8"),),
        (HostTensor("y", 1, "int16", (batch, n_size), (0, 1), "int16"),),
        (layer,),
    )  # fmt: skip


def some(shape: tuple[int, ...], low: int = -8, high: int = 8, seed: int = 0, dtype: str = "int8") -> Array:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def product(x: Array, w: Array) -> Array:
    """What the dense program makes of it."""
    return np.clip(x.astype(np.int64) @ w.astype(np.int64), -32768, 32767).astype(np.int16)
