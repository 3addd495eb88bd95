"""Average and max pooling, means, and element-wise rescaling: bytes summed or compared in their lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from msgspec import Struct

from tilesim.network.operators import AveragePool, MaxPool, Mean, Rescale
from tilesim.tiled.compiler.task import Level, NestWriter, TileTask
from tilesim.tiled.compiler.traits import Fields, ReceptiveField, TileTraits, everything
from tilesim.tiled.isa.model.instructions import Operation, TensorOp


class PoolSpan(Struct, frozen=True):
    """Output positions ``start`` … ``start + count`` - 1 whose windows all hold ``taps`` positions of the map, the
    first at ``first``.
    """

    start: int
    count: int
    first: int
    taps: int


def spans(outputs: range, size: int, window: int, stride: int, before: int) -> list[PoolSpan]:
    """Cut output positions along one axis where the window positions inside the map change: no padding then."""

    def inside(position: int) -> tuple[int, int]:
        corner = position * stride - before
        return max(0, -corner), min(window, size - corner)

    cut = []
    for (low, high), positions in groupby(outputs, inside):
        places = list(positions)
        cut.append(PoolSpan(places[0], len(places), places[0] * stride - before + low, high - low))
    return cut


def lower_average_pool(task: TileTask, op: AveragePool) -> list[TensorOp]:
    """A tensorop for each part of the output whose windows hold the same number of elements."""
    in_reals = op.rule == "real"
    operation = Operation.AVERAGE if in_reals else Operation.SUM
    ops = []
    for rows, columns in _parts(task, op):
        count = op.window[0] * op.window[1] if op.count_includes_padding else rows.taps * columns.taps
        pooled = replace(
            _tensorop(task, operation, op.strides, rows, columns),
            rule=op.rule,
            scaling=op.scaling(count),
            clamp=op.clamp,
        )
        ops.append(pooled if in_reals else _with_zero_points(pooled, op))
    return ops


def lower_max_pool(task: TileTask, op: MaxPool) -> list[TensorOp]:
    """A tensorop for each part of the output whose windows lie in the map alike."""
    return [
        replace(_tensorop(task, Operation.MAXIMUM, op.strides, rows, columns), clamp=op.clamp)
        for rows, columns in _parts(task, op)
    ]


def lower_mean(task: TileTask, op: Mean) -> list[TensorOp]:
    """A sum over the whole map, whose scaling holds the division."""
    source = task.inputs[0].shape
    return [_sum(task, op, PoolSpan(0, 1, 0, source.height), PoolSpan(0, 1, 0, source.width))]


def lower_rescale(task: TileTask, op: Rescale) -> list[TensorOp]:
    """An average over one element."""
    rows, columns = task.output.rows, task.output.columns
    down, across = (PoolSpan(some.start, len(some), some.start, 1) for some in (rows, columns))
    return [_sum(task, op, down, across)]


def _sum(task: TileTask, op: Mean | Rescale, rows: PoolSpan, columns: PoolSpan) -> TensorOp:
    summed = _tensorop(task, Operation.SUM, (1, 1), rows, columns)
    scaling = int(op.multiplier), int(op.shift)
    return _with_zero_points(replace(summed, rule=op.rule, scaling=scaling, clamp=op.clamp), op)


def _with_zero_points(summed: TensorOp, op: AveragePool | Mean | Rescale) -> TensorOp:
    return replace(summed, input_zero_point=op.input_zero_point, output_zero_point=op.output_zero_point)


def _parts(task: TileTask, op: AveragePool | MaxPool) -> Iterator[tuple[PoolSpan, PoolSpan]]:
    source, target = task.inputs[0].shape, task.output
    for rows in spans(target.rows, source.height, op.window[0], op.strides[0], op.padding.top):
        for columns in spans(target.columns, source.width, op.window[1], op.strides[1], op.padding.left):
            yield rows, columns


def _tensorop(
    task: TileTask, operation: Operation, strides: tuple[int, int], rows: PoolSpan, columns: PoolSpan
) -> TensorOp:
    """Loops: row, column, word of channels; row and column of the window inside."""
    source, target, vector = task.inputs[0], task.output, task.topology.tile.vector_bytes
    moves, makes = task.vector
    nest = NestWriter(
        [
            Level("y", rows.count, {"input": strides[0] * source.row_bytes, "output": target.row_bytes}),
            Level("x", columns.count, {"input": strides[1] * source.pixel_bytes, "output": target.pixel_bytes}),
            Level("cg", source.pixel_bytes // moves, {"input": moves, "output": makes}),
            Level("ky", rows.taps, {"input": source.row_bytes}, reduce=True),
            Level("kx", columns.taps, {"input": source.pixel_bytes}, reduce=True),
            Level("lane", vector, {}),
        ]
    )
    first, start = source.at(rows.first, columns.first), target.at(rows.start, columns.start)
    return task.tensorop(operation, nest, first, start)


def _fields(op: AveragePool | MaxPool, _weights: tuple[int, ...]) -> Fields:
    return (
        ReceptiveField(op.window[0], op.strides[0], op.padding.top),
        ReceptiveField(op.window[1], op.strides[1], op.padding.left),
    )


OPERATORS: Mapping[type[Any], TileTraits] = {
    AveragePool: TileTraits(lower_average_pool, _fields, channel_wise=True),
    MaxPool: TileTraits(lower_max_pool, _fields, channel_wise=True),
    Mean: TileTraits(lower_mean, everything, channel_wise=True),
    Rescale: TileTraits(lower_rescale, channel_wise=True),
}
