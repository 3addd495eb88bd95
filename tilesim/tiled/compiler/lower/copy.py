"""Layers that move bytes from place to place in a tile's narrow memory: words read, and written elsewhere.

Rows and columns may repeat (a copy of the nearest pixel), begin off the map (where a border has been filled in), and go
to or come from some of the channels, whole words of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tilesim.network.operators.concatenation import Concatenation
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.resize_nearest import ResizeNearest
from tilesim.network.operators.slice import Slice
from tilesim.tiled.compiler.feature_map import MapPart, padded
from tilesim.tiled.compiler.nest import Level, NestWriter
from tilesim.tiled.compiler.task import TileTask
from tilesim.tiled.isa.checks.values import RANGES
from tilesim.tiled.isa.model.instructions import Operation, TensorOp


@dataclass(frozen=True)
class Run:
    """``count`` times ``times`` output positions from ``start`` on, the ``times`` of each alike: copies of the input
    position ``first``, then of the one ``step`` further, and so on.
    """

    start: int
    count: int
    times: int
    first: int
    step: int


def copy_runs(start: int, sources: Sequence[int]) -> list[Run]:
    """The runs that copy the input positions ``sources`` to output positions from ``start`` on, as few as are found by
    making each as long as possible.
    """
    found: list[Run] = []
    at = start
    for source, times in _repeats(sources):
        last = found[-1] if found else None
        if last is not None and last.times == times and last.count == 1:
            found[-1] = Run(last.start, 2, times, last.first, source - last.first)
        elif last is not None and last.times == times and source == last.first + last.count * last.step:
            found[-1] = Run(last.start, last.count + 1, times, last.first, last.step)
        else:
            found.append(Run(at, 1, times, source, 0))
        at += times
    return found


def _repeats(sources: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Each input position with how often it comes in a row."""
    return ((source, len(list(alike))) for source, alike in groupby(sources))


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
    found, channel = [], 0
    for source in task.inputs:
        rows, columns = _shifted(task.output.rows, 0), _shifted(task.output.columns, 0)
        found += _copies(task, source, rows, columns, to_channel=channel)
        channel += source.shape.channels
    return found


def _shifted(outputs: range, by: int) -> list[Run]:
    return [Run(outputs.start, len(outputs), 1, outputs.start + by, 1)]


def _copies(
    task: TileTask,
    source: MapPart,
    rows: Iterable[Run],
    columns: list[Run],
    *,
    from_channel: int = 0,
    to_channel: int = 0,
) -> list[TensorOp]:
    channels = min(len(source.channels), len(task.output.channels))
    words = padded(channels, task.topology.tile.vector_bytes) // task.topology.tile.vector_bytes
    return [_copy(task, source, down, across, (from_channel, to_channel), words) for down in rows for across in columns]


def _copy(task: TileTask, source: MapPart, rows: Run, columns: Run, channels: tuple[int, int], words: int) -> TensorOp:
    """Loops: row and its repetitions, column and its repetitions, word of channels."""
    target, vector = task.output, task.topology.tile.vector_bytes
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
            Level("cg", words, {"input": vector, "output": vector}),
            Level("lane", vector, {}),
        ]
    )
    return TensorOp(
        tiles=0,
        operation=Operation.MAXIMUM,
        nest=nest.nest,
        input=nest.reference("input", source.at(rows.first, columns.first) + channels[0]),
        output=nest.reference("output", target.at(rows.start, columns.start) + channels[1]),
        input_type=task.input_type,
        output_type=task.output_type,
        clamp=RANGES[task.output_type],
        produce=nest.outermost,
        layer=task.layer,
    )
