"""The host's side: model arrays to rows for the ring, and rows back to model arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.classify import classified
from tilesim.errors import ArrayError
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.quantise import Quantise
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.program import Block, HostTensor, Program

Array = NDArray[Any]

ELEMENTS = {"i8": np.dtype(np.int8), "u8": np.dtype(np.uint8)}


def rows_of_inputs(program: Program, inputs: Sequence[Array]) -> tuple[list[Bytes], int]:
    """The rows that the host sends, each (samples, row bytes), and the number of samples.

    Raises:
        ArrayError: a wrong number of inputs, a wrong dtype or shape, or inputs that disagree on the number of samples.
    """
    if len(inputs) != len(program.inputs):
        raise ArrayError(f"inputs must be {len(program.inputs)} arrays, not {len(inputs)}")
    faults = [fault for tensor, array in zip(program.inputs, inputs, strict=True) for fault in _faults(tensor, array)]
    if faults:
        raise ArrayError(faults)
    samples = {len(array) // tensor.shape[0] for tensor, array in zip(program.inputs, inputs, strict=True)}
    if len(samples) > 1:
        raise ArrayError(f"all inputs must hold the same number of samples, not {sorted(samples)}")
    row_bytes = program.topology.wide_memory.row_bytes
    rows = [
        row for tensor, array in zip(program.inputs, inputs, strict=True) for row in _rows(tensor, array, row_bytes)
    ]
    return rows, samples.pop() if samples else 1


def output_array(tensor: HostTensor, data: Bytes) -> Array:
    """A model output from the bytes that the host received, (samples, bytes)."""
    received = data.reshape(len(data), tensor.rows, -1)
    whole = np.empty((len(data), *tensor.extent), ELEMENTS[tensor.element])
    row = 0
    for block in tensor.blocks:
        whole[(slice(None), *block.place)] = _box(block, received[:, row : row + block.rows]).view(whole.dtype)
        row += block.rows
    whole = _finished(tensor, whole)
    shape = [tensor.shape[axis] for axis in _canonical_order(tensor)]
    stacked = whole.reshape(-1, *shape).transpose(0, *(axis + 1 for axis in tensor.axes))
    model = np.ascontiguousarray(stacked).reshape(-1, *tensor.shape[1:])
    return Dequantise(tensor.scale, tensor.zero_point).evaluate([model]) if tensor.scale else model


def _finished(tensor: HostTensor, whole: Array) -> Array:
    """An output after the function and the look-up that the host applies."""
    if tensor.function:
        whole = classified(tensor.function, whole, tensor.scaling)
    if tensor.lookup:
        entries = np.array(tensor.lookup, np.int32)[np.ascontiguousarray(whole).view(np.uint8)]
        return entries if tensor.scale else entries.astype(tensor.dtype)
    return whole


def _faults(tensor: HostTensor, array: Array) -> list[str]:
    faults = []
    if array.dtype != np.dtype(tensor.dtype):
        faults.append(f"input {tensor.name} must be of dtype {tensor.dtype}, not {array.dtype}")
    if array.shape[1:] != tensor.shape[1:] or not array.ndim or not len(array) or len(array) % tensor.shape[0]:
        shown = " x ".join(str(size) for size in tensor.shape)
        faults.append(
            f"input {tensor.name} must be of shape {shown}, or hold several samples along its first axis, "
            f"not {' x '.join(str(size) for size in array.shape) or 'a single number'}"
        )
    return faults


def _canonical_order(tensor: HostTensor) -> list[int]:
    """The model's axis that each canonical axis is."""
    return [tensor.axes.index(axis) for axis in range(len(tensor.axes))]


def _rows(tensor: HostTensor, array: Array, row_bytes: int) -> Iterator[Bytes]:
    element = ELEMENTS[tensor.element]
    if tensor.scale:
        array = Quantise(tensor.scale, tensor.zero_point, element, tensor.rounding).evaluate([array])
    stacked = array.reshape(-1, *tensor.shape).transpose(0, *(axis + 1 for axis in _canonical_order(tensor)))
    whole = stacked.reshape(-1, *tensor.extent)
    for block in tensor.blocks:
        data = np.full((len(whole), block.rows, row_bytes), tensor.pad, element)
        _box(block, data)[...] = whole[(slice(None), *block.place)]
        yield from data.view(np.uint8).transpose(1, 0, 2)


def _box(block: Block, rows: Array) -> Array:
    """A view of the box (samples, *extent) in a block's ``rows``, (samples, rows, row bytes)."""
    height, width, channels = block.extent
    pixels = rows.reshape(len(rows), -1)[:, : height * width * block.pixel_bytes]
    return pixels.reshape(len(rows), height, width, block.pixel_bytes)[..., :channels]
