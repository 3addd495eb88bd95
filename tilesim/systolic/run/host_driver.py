"""The host's side: model arrays to the bytes that its link carries, and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.quantise import Quantise
from tilesim.sim.core.memory import Bytes
from tilesim.systolic.isa.model.program import HostTensor, Program

Array = NDArray[Any]


def bytes_of_inputs(program: Program, inputs: Sequence[Array]) -> tuple[list[Bytes], int]:
    """What the host holds of each input, (samples, bytes), and the number of samples.

    Raises:
        ArrayError: a wrong number of inputs, a wrong dtype or shape, or inputs that disagree on the number of samples.
    """
    if len(inputs) != len(program.inputs):
        raise ArrayError(f"inputs must be {len(program.inputs)} arrays, not {len(inputs)}")
    pairs = list(zip(program.inputs, inputs, strict=True))
    if faults := [fault for tensor, array in pairs for fault in _faults(tensor, array)]:
        raise ArrayError(faults)
    samples = {len(array) // tensor.shape[0] for tensor, array in pairs}
    if len(samples) > 1:
        raise ArrayError(f"all inputs must hold the same number of samples, not {sorted(samples)}")
    return [_sent(tensor, array) for tensor, array in pairs], samples.pop() if samples else 1


def output_bytes(tensor: HostTensor) -> int:
    """Bytes of a model output as the link carries it."""
    return prod(tensor.shape) * np.dtype(tensor.element).itemsize


def output_array(tensor: HostTensor, data: Bytes) -> Array:
    """A model output from the bytes that the host received, (samples, bytes)."""
    model = model_array(data.view(tensor.element), canonical(tensor.shape, tensor.axes), tensor.axes)
    if tensor.lookup:
        model = np.array(tensor.lookup, np.int32)[model.view(np.uint8)]
        model = model if tensor.scale else model.astype(tensor.dtype)
    return Dequantise(tensor.scale, tensor.zero_point).evaluate([model]) if tensor.scale else model


def canonical(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """The canonical shape of a tensor whose model axis k is canonical axis ``axes[k]``."""
    return [shape[axis] for axis in _order(axes)]


def model_array(values: Array, shape: Sequence[int], axes: Sequence[int]) -> Array:
    """(samples, elements) of the canonical ``shape`` as the model has them, samples along the first axis."""
    stacked = values.reshape(-1, *shape).transpose(0, *(axis + 1 for axis in axes))
    return np.ascontiguousarray(stacked).reshape(-1, *stacked.shape[2:])


def _order(axes: Sequence[int]) -> list[int]:
    """The model's axis that each canonical axis is."""
    return [axes.index(axis) for axis in range(len(axes))]


def _sent(tensor: HostTensor, array: Array) -> Bytes:
    if tensor.scale:
        element = np.dtype(tensor.element)
        array = Quantise(tensor.scale, tensor.zero_point, element, tensor.rounding).evaluate([array])
    stacked = array.reshape(-1, *tensor.shape).transpose(0, *(axis + 1 for axis in _order(tensor.axes)))
    return np.ascontiguousarray(stacked).reshape(len(stacked), -1).view(np.uint8)


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
