"""Reads model tensors out of the unified buffer as soon as their layer has written them."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.host import model_array
from tilesim.sim.core.memory import Memory
from tilesim.systolic.isa.model.program import Program, TensorPlace

Array = NDArray[Any]


class TensorProbe:
    """Copies a tensor when the instruction that completes it retires."""

    def __init__(self, program: Program, buffer: Memory) -> None:
        self._program = program
        self._buffer = buffer
        self._arrays: dict[int, dict[int, Array]] = defaultdict(dict)
        self._places: dict[str, list[TensorPlace]] = defaultdict(list)
        for place in program.tensors:
            self._places[place.after].append(place)

    def retired(self, label: str) -> None:
        for place in self._places.get(label, ()):
            self._arrays[place.index][place.inference] = self._read(place)

    def tensors(self, outputs: list[Array]) -> dict[int, Array]:
        """Every tensor that was read, in the model's layout; the outputs as the host received them. Those of several
        inferences follow one another along the first axis.
        """
        for tensor, array in zip(self._program.outputs, outputs, strict=True):
            self._arrays[tensor.index][tensor.inference] = array
        return {
            index: np.concatenate([array for _, array in sorted(arrays.items(), key=itemgetter(0))])
            for index, arrays in self._arrays.items()
        }

    def _read(self, place: TensorPlace) -> Array:
        dtype = np.dtype(place.dtype)
        data = self._buffer.row(place.address, prod(place.shape) * dtype.itemsize)
        return model_array(data.view(dtype), place.shape, place.axes)
