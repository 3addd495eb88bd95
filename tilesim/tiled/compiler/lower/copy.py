"""Layers that move bytes from place to place in a tile's narrow memory: words read, and written elsewhere.

Rows and columns may repeat (a copy of the nearest pixel), begin off the map (where a border has been filled in), and go
to or come from some of the channels, whole words of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tilesim.lowering.copy_runs import CopyRun, copy_runs
from tilesim.lowering.operator_plan import is_spatial
from tilesim.network.graph import Network, Node
from tilesim.network.operators import Concatenation, Pad, ResizeNearest, Slice
from tilesim.tiled.compiler.feature_map import MapPart, padded
from tilesim.tiled.compiler.task import Level, NestWriter, TileTask
from tilesim.tiled.compiler.traits import CopiedField, Fields, ReceptiveField, TileTraits, no_constants
from tilesim.tiled.isa.checks.values import RANGES
from tilesim.tiled.isa.model.instructions import Operation, TensorOp


def lower_pad(task: TileTask, op: Pad) -> list[TensorOp]:
    """The map with the border that was filled in around it."""
    rows, columns = _shifted(task.output.rows, -op.before[1]), _shifted(task.output.columns, -op.before[2])
    return _copies(task, task.inputs[0], rows, columns)


def lower_slice(task: TileTask, op: Slice) -> list[TensorOp]:
    """A box of the map; of a vector, of its channels."""
    down, across = op.begin[1:3] if len(op.begin) == 4 else (0, 0)
    rows, columns = _shifted(task.output.rows, down), _shifted(task.output.columns, across)
    return _copies(task, task.inputs[0], rows, columns, from_channel=op.begin[-1])


def lower_resize_nearest(task: TileTask, op: ResizeNearest) -> list[TensorOp]:
    """A tensorop for each run of rows and columns that repeat alike."""
    rows, columns = task.output.rows, task.output.columns
    return _copies(
        task,
        task.inputs[0],
        copy_runs(rows.start, op.rows[rows.start : rows.stop]),
        copy_runs(columns.start, op.columns[columns.start : columns.stop]),
    )


def lower_concatenation(task: TileTask, _: Concatenation) -> list[TensorOp]:
    """A tensorop for each input."""
    copies, channel = [], 0
    for source in task.inputs:
        rows, columns = _shifted(task.output.rows, 0), _shifted(task.output.columns, 0)
        copies += _copies(task, source, rows, columns, to_channel=channel)
        channel += source.shape.channels
    return copies


def _shifted(outputs: range, by: int) -> list[CopyRun]:
    return [CopyRun(outputs.start, len(outputs), 1, outputs.start + by, 1)]


def _copies(
    task: TileTask,
    source: MapPart,
    rows: Iterable[CopyRun],
    columns: list[CopyRun],
    *,
    from_channel: int = 0,
    to_channel: int = 0,
) -> list[TensorOp]:
    channels = min(len(source.channels), len(task.output.channels))
    words = padded(channels, task.topology.tile.vector_bytes) // task.topology.tile.vector_bytes
    return [_copy(task, source, down, across, (from_channel, to_channel), words) for down in rows for across in columns]


def _copy(
    task: TileTask, source: MapPart, rows: CopyRun, columns: CopyRun, channels: tuple[int, int], words: int
) -> TensorOp:
    """Loops: row and its repetitions, column and its repetitions, word of channels."""
    target, lanes, (moves, makes) = task.output, task.topology.tile.vector_bytes, task.vector
    nest = NestWriter(
        [
            Level("y", rows.count, {"input": rows.step * source.row_bytes, "output": rows.times * target.row_bytes}),
            Level("yy", rows.times, {"output": target.row_bytes}),
            Level(
                "x",
                columns.count,
                {"input": columns.step * source.pixel_bytes, "output": columns.times * target.pixel_bytes},
            ),
            Level("xx", columns.times, {"output": target.pixel_bytes}),
            Level("cg", words, {"input": moves, "output": makes}),
            Level("lane", lanes, {}),
        ]
    )
    first = source.at(rows.first, columns.first) + channels[0] * source.element_bytes
    start = target.at(rows.start, columns.start) + channels[1] * target.element_bytes
    copied = task.tensorop(Operation.MAXIMUM, nest, first, start)
    return replace(copied, clamp=RANGES[task.output_type])


def _pad_fields(op: Pad, _weights: tuple[int, ...]) -> Fields:
    return ReceptiveField(1, before=op.before[1], border=True), ReceptiveField(1, before=op.before[2], border=True)


def _slice_fields(op: Slice, _weights: tuple[int, ...]) -> Fields:
    down, across = op.begin[1:3] if len(op.begin) == 4 else (0, 0)
    return ReceptiveField(1, before=-down), ReceptiveField(1, before=-across)


def _resize_fields(op: ResizeNearest, _weights: tuple[int, ...]) -> Fields:
    return CopiedField(1, 0, sources=op.rows), CopiedField(1, 0, sources=op.columns)


def _pad_faults(network: Network, node: Node, word_bytes: int) -> Iterator[str]:
    """What fills the border is the zero point."""
    op, known = node.operator, network.tensors[node.inputs[0]].quantisation
    assert isinstance(op, Pad)
    yield from no_constants(network, node, word_bytes)
    if not is_spatial(op):
        yield "must pad the rows and columns of a map, not its channels"
    elif known is not None and op.value != known.zero_point:
        yield f"must pad with its input's zero point {known.zero_point}, not with {op.value}"


def _slice_faults(network: Network, node: Node, word_bytes: int) -> Iterator[str]:
    op = node.operator
    assert isinstance(op, Slice)
    yield from no_constants(network, node, word_bytes)
    if op.begin[-1] % word_bytes:
        yield f"must begin at a multiple of {word_bytes} channels, not at channel {op.begin[-1]}"


def _concatenation_faults(network: Network, node: Node, word_bytes: int) -> Iterator[str]:
    op, shapes = node.operator, [network.tensors[index].shape for index in node.inputs]
    assert isinstance(op, Concatenation)
    yield from no_constants(network, node, word_bytes)
    odd = [shape[-1] for shape in shapes[:-1] if shape[-1] % word_bytes]
    if op.axis != len(shapes[0]) - 1:
        yield f"must put tensors together along their channels, not along axis {op.axis}"
    elif odd:
        yield f"must have multiples of {word_bytes} channels in all inputs but the last, not {odd[0]}"


OPERATORS: Mapping[type[Any], TileTraits] = {
    Concatenation: TileTraits(lower_concatenation, faults=_concatenation_faults),
    Pad: TileTraits(lower_pad, _pad_fields, _pad_faults, channel_wise=True),
    ResizeNearest: TileTraits(lower_resize_nearest, _resize_fields, channel_wise=True),
    Slice: TileTraits(lower_slice, _slice_fields, _slice_faults),
}
