"""The host's side: model arrays to rows for the ring, and rows back to model arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.classify import classified
from tilesim.errors import ArrayError
from tilesim.machines.host_steps import HostStep, HostValues, constants_of
from tilesim.tiled.isa.model.program import Block, GivenTensor, HostTensor, Program
from tilesim.tiled.stepped.memory import Bytes

Array = NDArray[Any]
HostRow: TypeAlias = Bytes | tuple[int, int]
"""A row, or which row of which tensor, by its index, that the host is to make."""
ELEMENTS: dict[str, np.dtype[Any]] = {
    "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "i16": np.dtype("<i2"),
    "i32": np.dtype("<i4"),
}


class HostSide:
    """What the host has and does in a run of one sample: the ``rows`` that it sends, of which some are yet to be made,
    and its own steps. Raises ArrayError for inputs that do not fit.
    """

    def __init__(self, program: Program, inputs: list[Array]) -> None:
        _must_fit(program, inputs)
        self._program, self._row_bytes = program, program.topology.wide_memory.row_bytes
        self._values = HostValues(1, constants_of(program.constants))
        for tensor, array in zip(program.inputs, inputs, strict=True) if program.steps else ():
            self._values.put(tensor, array)
        self.made: dict[int, list[Bytes]] = {}
        """The rows of what the host has made for the tiles so far, by index."""
        given = iter(inputs)
        self.rows: list[HostRow] = []
        for tensor in program.sent:
            if isinstance(tensor, GivenTensor):
                self.rows += [(tensor.index, number) for number in range(tensor.rows)]
            else:
                array = next(given)
                self.rows += _rows(tensor, array, self._row_bytes) if tensor.blocks else ()

    def do(self, step: HostStep, awaited: Sequence[int], received: Mapping[int, list[Bytes]]) -> None:
        """Make a tensor of what has come."""
        for number in awaited:
            tensor = self._program.leaving[number]
            self._values.put(tensor, output_array(tensor, received[number]))
        self._values.make(step)
        for tensor in self._program.given:
            if tensor.index == step.makes:
                self.made[step.makes] = list(_rows(tensor, self._values.get(tensor), self._row_bytes))

    def row(self, row: HostRow) -> Bytes | None:
        """A row, if it is made."""
        if not isinstance(row, tuple):
            return row
        index, number = row
        return self.made[index][number] if index in self.made else None

    def outputs(self, received: Mapping[int, list[Bytes]]) -> list[Array]:
        """The model's outputs, when all is done."""
        return [
            output_array(tensor, received.get(number, [])) if tensor.rows else self._values.get(tensor)
            for number, tensor in enumerate(self._program.outputs)
        ]


def _must_fit(program: Program, inputs: list[Array]) -> None:
    if len(inputs) != len(program.inputs):
        count = len(program.inputs)
        raise ArrayError(f"inputs must be {count} array{'s' * (count != 1)}, not {len(inputs)}")
    pairs = list(zip(program.inputs, inputs, strict=True))
    if faults := [
        f"input {tensor.name} must be {tensor.dtype} of shape {tensor.shape}, not {array.dtype} of {array.shape}"
        for tensor, array in pairs
        if array.dtype != np.dtype(tensor.dtype) or array.shape != tensor.shape
    ]:
        raise ArrayError(faults)


def _rows(tensor: HostTensor, array: Array, row_bytes: int) -> Iterator[Bytes]:
    element = ELEMENTS[tensor.element]
    integers = _quantised(tensor, array) if tensor.scale else array
    whole = integers.transpose([tensor.axes.index(axis) for axis in range(array.ndim)]).reshape(tensor.extent)
    for block in tensor.blocks:
        data = np.full(block.rows * row_bytes // element.itemsize, tensor.pad, element).view(np.uint8)
        box = whole[block.place].astype(element)
        for place, pixel in enumerate(box.reshape(-1, block.extent[2])):
            own = pixel.view(np.uint8)
            data[place * block.pixel_bytes :][: len(own)] = own
        yield from data.reshape(block.rows, row_bytes)


def own_bytes(tensors: Iterable[HostTensor], program: Program) -> list[list[int]]:
    """How many bytes of each row of each tensor are no pads."""
    return [_own_bytes(tensor, program.topology.wide_memory.row_bytes) for tensor in tensors]


def _own_bytes(tensor: HostTensor, row_bytes: int) -> list[int]:
    marks: list[NDArray[np.bool_]] = []
    for block in tensor.blocks:
        height, width, channels = block.extent
        own = np.zeros(block.rows * row_bytes, bool)
        for pixel in range(height * width):
            own[pixel * block.pixel_bytes :][: channels * ELEMENTS[tensor.element].itemsize] = True
        marks.append(own.reshape(block.rows, row_bytes))
    return [int(row.sum()) for mark in marks for row in mark]


def _quantised(tensor: HostTensor, array: Array) -> Array:
    """The quotient is a float32; halves go to even, or away from zero; what is no number becomes the zero point."""
    with np.errstate(over="ignore"):
        quotient = np.nan_to_num(array.astype(np.float32) / np.float32(tensor.scale), nan=0.0)
    if tensor.rounding == "even":
        rounded = np.rint(quotient)
    else:
        rounded = np.trunc(quotient.astype(np.float64) + np.copysign(0.5, quotient))
    limits = np.iinfo(ELEMENTS[tensor.element])
    return np.asarray(np.clip(rounded + tensor.zero_point, limits.min, limits.max), ELEMENTS[tensor.element])


def output_array(tensor: HostTensor, rows: list[Bytes]) -> Array:
    """A model output from the rows that the host received."""
    whole = np.empty(tensor.extent, ELEMENTS[tensor.element])
    for block in tensor.blocks:
        data = np.concatenate(rows[: block.rows])
        rows = rows[block.rows :]
        whole[block.place] = _pixels(block, data, whole.itemsize).view(whole.dtype).reshape(block.extent)
    finished = _finished(tensor, whole)
    shape = [tensor.shape[tensor.axes.index(axis)] for axis in range(len(tensor.axes))]
    model = np.ascontiguousarray(finished.reshape(shape).transpose(tensor.axes))
    if not tensor.scale:
        return model.astype(tensor.dtype)
    return (model.astype(np.int32) - np.int32(tensor.zero_point)).astype(np.float32) * np.float32(tensor.scale)


def _pixels(block: Block, data: Bytes, element_bytes: int) -> Bytes:
    height, width, channels = block.extent
    return np.stack([data[k * block.pixel_bytes :][: channels * element_bytes] for k in range(height * width)])


def _finished(tensor: HostTensor, whole: Array) -> Array:
    """An output after the function and the look-up that the host applies."""
    if tensor.function:
        whole = classified(tensor.function, whole, tensor.scaling)
    if not tensor.lookup:
        return whole
    entries = np.array(tensor.lookup, np.int32)[np.ascontiguousarray(whole).view(np.uint8)]
    return entries if tensor.scale else entries.astype(tensor.dtype)
