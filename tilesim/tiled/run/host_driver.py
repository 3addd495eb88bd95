"""The host's side: model arrays to rows for the ring, and rows back to model arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.classify import classified
from tilesim.machines.host import carried, received, samples_of
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.program import Block, HostTensor, Program

Array = NDArray[Any]


def rows_of_inputs(program: Program, inputs: Sequence[Array]) -> tuple[list[Bytes], int]:
    """The rows that the host sends, each (samples, row bytes), and the number of samples. Raises ArrayError."""
    samples, row_bytes = samples_of(program.inputs, inputs), program.topology.wide_memory.row_bytes
    pairs = zip(program.inputs, inputs, strict=True)
    return [row for tensor, array in pairs for row in _rows(tensor, array, row_bytes)], samples


def output_array(tensor: HostTensor, data: Bytes) -> Array:
    """A model output from the bytes that the host received, (samples, bytes)."""
    rows = data.reshape(len(data), tensor.rows, -1)
    whole = np.empty((len(data), *tensor.extent), tensor.carried)
    row = 0
    for block in tensor.blocks:
        box = _box(block, rows[:, row : row + block.rows], whole.itemsize)
        whole[(slice(None), *block.place)] = box.view(whole.dtype)
        row += block.rows
    return received(tensor, classified(tensor.function, whole, tensor.scaling) if tensor.function else whole)


def _rows(tensor: HostTensor, array: Array, row_bytes: int) -> Iterator[Bytes]:
    whole = carried(tensor, array).reshape(-1, *tensor.extent)
    for block in tensor.blocks:
        elements = row_bytes // whole.itemsize
        rows = np.full((len(whole), block.rows, elements), tensor.pad, tensor.carried).view(np.uint8)
        box = np.ascontiguousarray(whole[(slice(None), *block.place)])
        _box(block, rows, whole.itemsize)[...] = box.view(np.uint8)
        yield from rows.transpose(1, 0, 2)


def _box(block: Block, rows: Array, element_bytes: int) -> Array:
    """A view of the bytes of the box (samples, *extent) in a block's ``rows``, (samples, rows, row bytes)."""
    height, width, channels = block.extent
    pixels = rows.reshape(len(rows), -1)[:, : height * width * block.pixel_bytes]
    return pixels.reshape(len(rows), height, width, block.pixel_bytes)[..., : channels * element_bytes]
