"""The host's side: model arrays to rows for the ring, and rows back to model arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.classify import classified
from tilesim.machines.host import carried, received, samples_of
from tilesim.machines.host_steps import HostStep, HostValues, constants_of
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.dataflow.host import Received
from tilesim.tiled.isa.model.program import Block, GivenTensor, HostTensor, Program, awaited_by_step
from tilesim.tiled.units.host.sendings import Content, MadeRow, MadeRows

if TYPE_CHECKING:
    from tilesim.tiled.units.host.task import HostTask

Array = NDArray[Any]
CUTTING = ("slice", "concatenation")
"""Steps of the host that may cut bands out of tensors, and put them together."""


Come: TypeAlias = Callable[[], Received]
"""Where what comes from the chip is, once there is a chip."""


class HostSide:
    """What the host has and does in a run: the ``rows`` that it sends, each (samples, row bytes), or yet to be made;
    the number of ``samples``; and its own steps. Raises ArrayError.
    """

    def __init__(self, program: Program, inputs: Sequence[Array]) -> None:
        self.samples = samples_of(program.inputs, inputs)
        self._program, self._row_bytes = program, program.topology.wide_memory.row_bytes
        self._values = HostValues(self.samples, constants_of(program.constants))
        if program.steps:
            for tensor, array in zip(program.inputs, inputs, strict=True):
                self._values.put(tensor, array)
        self._made = {tensor.index: MadeRows(tensor.name) for tensor in program.given}
        arrays = iter(inputs)
        self.rows: Sequence[Content] = [row for tensor in program.sent for row in self._rows_of(tensor, arrays)]
        self._received: set[int] = set()

    def _rows_of(self, tensor: HostTensor, arrays: Iterator[Array]) -> Iterator[Content]:
        if isinstance(tensor, GivenTensor):
            made = self._made[tensor.index]
            return (MadeRow(made, number) for number in range(tensor.rows))
        array = next(arrays)
        return _rows(tensor, array, self._row_bytes) if tensor.blocks else iter(())

    def tasks(self, come: Come) -> list[HostTask]:
        """The steps, which read what has come."""
        return [self._task(step, awaited, come) for step, awaited in awaited_by_step(self._program)]

    def _task(self, step: HostStep, awaited: Sequence[int], come: Come) -> HostTask:
        from tilesim.tiled.units.host.task import HostTask  # which most programs don't need

        program = self._program
        given = [tensor for tensor in program.given if tensor.index == step.makes]
        return HostTask(
            label=step.label,
            cycles=program.topology.step_cycles(step.bytes),
            size_bytes=step.bytes,
            awaits={number: program.leaving[number].rows for number in awaited},
            work=partial(self._do, step, awaited, come),
            gives=[(self._made[tensor.index], partial(self._rows_made, tensor)) for tensor in given],
            makes=[k for k, tensor in enumerate(program.outputs) if not tensor.rows and tensor.index == step.makes],
        )

    def _do(self, step: HostStep, awaited: Sequence[int], come: Come) -> None:
        for number in awaited:
            if number not in self._received:
                tensor = self._program.leaving[number]
                self._values.put(tensor, output_array(tensor, come().output(number)))
                self._received.add(number)
        self._values.make(step)

    def _rows_made(self, tensor: HostTensor) -> list[Bytes]:
        return list(_rows(tensor, self._values.get(tensor), self._row_bytes))

    def tensors(self) -> dict[int, Array]:
        """What the host has given to the chip, if it computes something itself, by index; but for bands of tensors,
        which are none of the model's.
        """
        program = self._program
        bands = {step.makes for step in program.steps if step.operator in CUTTING}
        bands -= {layout.index for layout in program.tensors}
        given = [*program.inputs, *(tensor for tensor in program.given if tensor.index not in bands)]
        return {tensor.index: self._values.get(tensor) for tensor in (given if program.steps else ())}

    def outputs(self, come: Received) -> list[Array]:
        """The model's outputs, when all is done."""
        return [
            output_array(tensor, come.output(number)) if tensor.rows else self._values.get(tensor)
            for number, tensor in enumerate(self._program.outputs)
        ]


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
