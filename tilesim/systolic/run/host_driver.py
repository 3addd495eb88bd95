"""The host's side: model arrays to the bytes that its link carries, and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.host import carried, received, samples_of
from tilesim.sim.core.memory import Bytes
from tilesim.systolic.isa.model.program import HostTensor, Program

Array = NDArray[Any]


def bytes_of_inputs(program: Program, inputs: Sequence[Array]) -> tuple[list[Bytes], int]:
    """What the host holds of each input, (samples, bytes), and the number of samples.

    Raises:
        ArrayError: inputs that do not fit.
    """
    samples = samples_of(program.inputs, inputs)
    return [_sent(tensor, array) for tensor, array in zip(program.inputs, inputs, strict=True)], samples


def output_bytes(tensor: HostTensor) -> int:
    """Bytes of a model output as the link carries it."""
    return prod(tensor.shape) * tensor.carried.itemsize


def output_array(tensor: HostTensor, data: Bytes) -> Array:
    """A model output from the bytes that the host received, (samples, bytes)."""
    return received(tensor, data.view(tensor.carried))


def _sent(tensor: HostTensor, array: Array) -> Bytes:
    stacked = carried(tensor, array)
    return np.ascontiguousarray(stacked).reshape(len(stacked), -1).view(np.uint8)
