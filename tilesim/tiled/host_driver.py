"""The host's side: model arrays to rows for the ring, and rows back to model arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.quantise import Quantise
from tilesim.sim.memory import Bytes
from tilesim.tiled.isa.program import HostTensor, Program

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
    canonical_shape = _canonical_shape(tensor)
    pixels, channels = prod(canonical_shape[:-1]), canonical_shape[-1]
    elements = data[:, : pixels * tensor.pixel_bytes].reshape(len(data), pixels, tensor.pixel_bytes)[:, :, :channels]
    canonical = np.ascontiguousarray(elements).view(ELEMENTS[tensor.element])
    stacked = canonical.reshape(len(data) * canonical_shape[0], *canonical_shape[1:]).transpose(tensor.axes)
    if tensor.scale:
        return Dequantise(tensor.scale, tensor.zero_point).evaluate([stacked])
    return np.ascontiguousarray(stacked)


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


def _canonical_shape(tensor: HostTensor) -> tuple[int, ...]:
    return tuple(tensor.shape[tensor.axes.index(axis)] for axis in range(len(tensor.shape)))


def _rows(tensor: HostTensor, array: Array, row_bytes: int) -> list[Bytes]:
    element = ELEMENTS[tensor.element]
    if tensor.scale:
        array = Quantise(tensor.scale, tensor.zero_point, element, tensor.rounding).evaluate([array])
    shape = _canonical_shape(tensor)
    canonical = array.transpose(np.argsort(tensor.axes))
    samples = len(array) // tensor.shape[0]
    pixels = np.full((samples, prod(shape[:-1]), tensor.pixel_bytes), tensor.pad, element)
    pixels[:, :, : shape[-1]] = canonical.reshape(samples, -1, shape[-1])
    data = np.full((samples, tensor.rows * row_bytes), tensor.pad, element)
    data[:, : pixels[0].size] = pixels.reshape(samples, -1)
    return list(data.view(np.uint8).reshape(samples, tensor.rows, row_bytes).transpose(1, 0, 2))
