"""Reads model tensors out of the data RAM as soon as their layer has written them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.host import model_array
from tilesim.rotating.isa.model.program import Program, TensorPlace
from tilesim.rotating.layout import values_of
from tilesim.rotating.units.row_memory import RowMemory

Array = NDArray[Any]


class TensorProbe:
    """Copies a tensor when the row that completes it has been written."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._arrays: dict[int, Array] = {}
        self._places: dict[int, list[TensorPlace]] = defaultdict(list)
        for place in program.tensors:
            self._places[place.rows_written].append(place)

    def written(self, ram: RowMemory, rows: int) -> None:
        """The output unit has written so many rows into ``ram``."""
        for place in self._places.get(rows, ()):
            self._arrays[place.index] = self._read(ram, place)

    def tensors(self, outputs: list[Array]) -> dict[int, Array]:
        """Every tensor that was read, in the model's layout; the outputs as the host received them."""
        received = {tensor.index: array for tensor, array in zip(self._program.outputs, outputs, strict=True)}
        return self._arrays | received

    def _read(self, ram: RowMemory, place: TensorPlace) -> Array:
        rows = ram.rows[:, place.row : place.row + place.layout.rows]
        values = values_of(rows, place.layout, self._program.topology, np.dtype(place.dtype))
        return model_array(values.reshape(len(values), -1), place.shape, place.axes)
