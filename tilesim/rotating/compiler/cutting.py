"""Layers cut into stripes: each a layer of its own, of tensors of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tilesim.network.graph import Tensor
from tilesim.rotating.compiler.moves import NOWHERE, wanted
from tilesim.rotating.compiler.pieces import Columns, Piece
from tilesim.rotating.compiler.task import FRESH, STRIPES, Cut, MapShape, Task


def number_of(index: int, stripe: int) -> int:
    """The number of a stripe of a tensor."""
    return index + (stripe + 1) * FRESH * STRIPES


def cut_tasks(tasks: Sequence[Task], columns: Mapping[int, Sequence[Columns]]) -> tuple[list[Task], dict[int, Piece]]:
    """All tasks, those cut that make a tensor of which there are stripes of ``columns``, or move elements of one; and
    the stripes.
    """
    made: list[Task] = []
    for task in tasks:
        own, read = columns.get(task.output.index), [tensor.index in columns for tensor in task.inputs]
        if task.family == "rewriting" and (own is not None or any(read)):
            made += _rewriting(task, columns)
        elif own is not None:
            for number in range(len(own)):
                here = {index: stripes[number] for index, stripes in columns.items() if number < len(stripes)}
                made.append(stripe_of(task, number, here))
        else:
            made.append(task)
    pieces = {
        number_of(index, k): Piece(index, one.first) for index, own in columns.items() for k, one in enumerate(own)
    }
    return made, pieces


def stripe_of(task: Task, number: int, columns: Mapping[int, Columns]) -> Task:
    """What makes a stripe of what a layer makes, of one of each input: all have the ``columns``. A constant has those
    that are made.
    """
    made = columns[task.output.index]
    read = [columns.get(tensor.index, made) for tensor in task.inputs]
    pairs = zip(task.inputs, task.maps, read, strict=True)
    inputs = tuple(_tensor(tensor, number, shape, own) for tensor, shape, own in pairs)
    cut = Cut(number, made.first, tuple(own.first for own in read), task.maps[0][1])
    return replace(
        task, inputs=inputs, output=_tensor(task.output, number, task.made, made), cut=cut,
        maps=tuple(_shape(shape, own) for shape, own in zip(task.maps, read, strict=True)),
        made=_shape(task.made, made),
    )  # fmt: skip


def _shape(shape: MapShape, columns: Columns) -> MapShape:
    return shape[0], columns.width, shape[2]


def _tensor(tensor: Tensor, number: int, shape: MapShape, columns: Columns) -> Tensor:
    """A stripe of a tensor."""
    own = (1, *_shape(shape, columns))
    data = tensor.data
    if data is not None:
        whole = np.broadcast_to(data.reshape((1,) * (4 - data.ndim) + data.shape), (1, *shape))
        data = whole[:, :, columns.first : columns.end]
    return replace(tensor, index=number_of(tensor.index, number), shape=own, data=data, model_axes=None)


def _rewriting(task: Task, columns: Mapping[int, Sequence[Columns]]) -> list[Task]:
    """What makes each stripe of what a layer makes that only moves elements: of all stripes that have some of them."""
    if task.output.index not in columns:
        return [_gathering(task, task.output, task.made, wanted(task), Cut(0, 0, (), 0), columns)]
    moved, tasks = wanted(task), []
    for number, own in enumerate(columns[task.output.index]):
        output, made = _tensor(task.output, number, task.made, own), _shape(task.made, own)
        cut = Cut(number, own.first, (), 0)
        tasks.append(_gathering(task, output, made, moved[:, own.first : own.end], cut, columns))
    return tasks


def _gathering(
    task: Task, output: Tensor, made: MapShape, moved: NDArray[np.int64], cut: Cut,
    columns: Mapping[int, Sequence[Columns]],
) -> Task:  # fmt: skip
    """What moves to ``output`` the elements ``moved`` of the inputs, from those stripes that have them."""
    inputs, maps = list[Tensor](), list[MapShape]()
    left, renumbered = moved.copy(), np.full(moved.shape, NOWHERE, np.int64)
    first = count = 0
    for tensor, shape in zip(task.inputs, task.maps, strict=True):
        for stripe, own in _stripes(tensor, shape, columns.get(tensor.index), cut.number):
            within = _within(left - first, shape, own)
            here = within != NOWHERE
            last_chance = not inputs and tensor is task.inputs[-1]
            if here.any() or last_chance:
                renumbered[here] = within[here] + count
                left[here] = NOWHERE
                inputs.append(stripe)
                maps.append(_shape(shape, own))
                count += shape[0] * own.width * shape[2]
        first += shape[0] * shape[1] * shape[2]
    return replace(
        task, inputs=tuple(inputs), maps=tuple(maps), output=output, made=made, cut=replace(cut, moved=renumbered)
    )


def _stripes(
    tensor: Tensor, shape: MapShape, columns: Sequence[Columns] | None, nearest: int
) -> list[tuple[Tensor, Columns]]:
    """A tensor, if there are no stripes of it; else these, the ``nearest`` first, which most often has all."""
    if columns is None:
        return [(tensor, Columns(0, shape[1]))]
    order = sorted(range(len(columns)), key=lambda number: number != nearest)
    return [(_tensor(tensor, number, shape, columns[number]), columns[number]) for number in order]


def _within(elements: NDArray[np.int64], shape: MapShape, columns: Columns) -> NDArray[np.int64]:
    """The numbers of a map's elements among those of a stripe of it."""
    lines, width, channels = shape
    line, rest = np.divmod(elements, width * channels)
    column, channel = np.divmod(rest, channels)
    inside = (line >= 0) & (line < lines) & (column >= columns.first) & (column < columns.end)
    return np.where(inside, (line * columns.width + column - columns.first) * channels + channel, NOWHERE)
