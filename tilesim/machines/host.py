"""The host's side of a run: model arrays to what its link carries, channels last, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError, InputError, refuse
from tilesim.machines.program import HostTensor
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.quantise import Quantise
from tilesim.printable import counted, shown

Array = NDArray[Any]


def samples_of(tensors: Sequence[HostTensor], inputs: Sequence[Array]) -> int:
    """How many samples ``inputs`` hold.

    Raises:
        ArrayError: a wrong number of inputs, a wrong dtype or shape, or inputs that disagree on the number of samples.
    """
    if len(inputs) != len(tensors):
        raise ArrayError(f"inputs must be {counted(len(tensors), 'array')}, not {len(inputs)}")
    pairs = list(zip(tensors, inputs, strict=True))
    refuse((fault for tensor, array in pairs for fault in _faults(tensor, array)), ArrayError)
    samples = {len(array) // tensor.shape[0] for tensor, array in pairs}
    if len(samples) > 1:
        raise ArrayError(f"all inputs must hold the same number of samples, not {sorted(samples)}")
    return samples.pop() if samples else 1


def random_inputs(tensors: Sequence[HostTensor], seed: int = 0) -> list[Array]:
    """An array for each of the ``tensors``, of its dtype and shape, over the whole range that it can hold; the same for
    the same ``seed``.

    Raises:
        InputError: a ``seed`` that is no natural number.
    """
    number: object = seed
    if not isinstance(number, Integral) or int(number) < 0:
        raise InputError(f"seed must be a whole number from 0 on, not {seed!r}")
    rng = np.random.default_rng(seed)
    return [_random(tensor, rng) for tensor in tensors]


def _random(tensor: HostTensor, rng: np.random.Generator) -> Array:
    dtype = np.dtype(tensor.dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, tensor.shape).astype(dtype)
    if dtype.kind == "f" and not tensor.scale:  # nobody quantises it, so that any range will do
        return rng.uniform(-1, 1, tensor.shape).astype(dtype)
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, tensor.shape, dtype, endpoint=True)
    limits = np.iinfo(tensor.carried)
    low, high = (tensor.scale * (limit - tensor.zero_point) for limit in (int(limits.min), int(limits.max)))
    return rng.uniform(low, high, tensor.shape).astype(dtype)


def carried(tensor: HostTensor, array: Array) -> Array:
    """A model input as it is carried: (samples, *canonical shape), quantised if it is of floats."""
    if tensor.scale:
        array = Quantise(tensor.scale, tensor.zero_point, tensor.carried, tensor.rounding).evaluate([array])
    return array.reshape(-1, *tensor.shape).transpose(0, *(axis + 1 for axis in _canonical_order(tensor.axes)))


def received(tensor: HostTensor, values: Array) -> Array:
    """A model output from what was carried, (samples, ...) in the canonical order of its elements."""
    if tensor.lookup:
        entries = np.array(tensor.lookup, np.int32)[np.ascontiguousarray(values).view(np.uint8)]
        values = entries if tensor.scale else entries.astype(tensor.dtype)
    array = model_array(values, canonical(tensor.shape, tensor.axes), tensor.axes)
    if tensor.scale:
        return Dequantise(tensor.scale, tensor.zero_point).evaluate([array])
    return array.astype(tensor.dtype, copy=False)  # places come in 32 bits


def canonical(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """The canonical shape of a tensor whose model axis k is canonical axis ``axes[k]``."""
    return [shape[axis] for axis in _canonical_order(axes)]


def model_array(values: Array, shape: Sequence[int], axes: Sequence[int]) -> Array:
    """(samples, elements) of the canonical ``shape`` as the model has them, samples along the first axis."""
    stacked = values.reshape(-1, *shape).transpose(0, *(axis + 1 for axis in axes))
    return np.ascontiguousarray(stacked).reshape(-1, *stacked.shape[2:])


def _canonical_order(axes: Sequence[int]) -> list[int]:
    """The model's axis that each canonical axis is."""
    return [axes.index(axis) for axis in range(len(axes))]


def _faults(tensor: HostTensor, array: Array) -> Iterator[str]:
    if array.dtype != np.dtype(tensor.dtype):
        yield f"input {shown(tensor.name)} must be of dtype {tensor.dtype}, not {array.dtype}"
    elif array.dtype.kind == "f" and np.isnan(array).any():
        yield f"input {shown(tensor.name)} must hold numbers, not NaN"
    if array.shape[1:] != tensor.shape[1:] or not array.ndim or not len(array) or len(array) % tensor.shape[0]:
        wanted, given = (" x ".join(map(str, shape)) for shape in (tensor.shape, array.shape))
        yield (
            f"input {shown(tensor.name)} must be of shape {wanted}, or hold several samples along its first axis, "
            f"not {given or 'a single number'}"
        )
