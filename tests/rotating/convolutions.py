"""Convolutions, depthwise ones and pools as programs, by the rules of the skeleton alone, and what they must come to.

An output row is made by loading the rows of its window one after the other; of each, words rotate past all filters, by
column, then by channel. ``claimed`` also brings the last channel back to where the first one was, ``trimmed`` doesn't.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.isa.model.instructions import Alu, End, Instruction, Loop, Out, Rows, Step
from tilesim.rotating.topology import Topology

Array = NDArray[Any]
Outs = Callable[[int, int], Out]
"""The out of a pass and an output row."""
NOBODY = -1


def x_of(height: int, width: int, channels: int) -> Array:
    """What oracles convolve."""
    y, x, c = np.ogrid[:height, :width, :channels]
    return np.asarray((7 * y + 3 * x + 5 * c + 1) % 13 - 6)


def w_of(filters: int, rows: int, columns: int, channels: int) -> Array:
    """With what."""
    f, r, s, c = np.ogrid[:filters, :rows, :columns, :channels]
    return np.asarray((5 * f + 3 * r + 2 * s + 7 * c + 2) % 11 - 5)


def direct(
    x: Array, w: Array, stride: int = 1, padding: tuple[int, int, int, int] = (0, 0, 0, 0), dilation: int = 1
) -> Array:
    """The convolution itself: (height, width, filters); ``padding``: top, left, bottom, right."""
    top, left, bottom, right = padding
    padded = np.pad(x, ((top, bottom), (left, right), (0, 0)))
    filters, rows, columns, _ = w.shape
    height = (padded.shape[0] - (rows - 1) * dilation - 1) // stride + 1
    width = (padded.shape[1] - (columns - 1) * dilation - 1) // stride + 1
    y = np.zeros((height, width, filters), np.int64)
    for r in range(rows):
        for s in range(columns):
            lines = slice(r * dilation, r * dilation + (height - 1) * stride + 1, stride)
            words = slice(s * dilation, s * dilation + (width - 1) * stride + 1, stride)
            y += np.einsum("hwc,fc->hwf", padded[lines, words], w[:, r, s])
    return y


@dataclass(frozen=True)
class Frame:
    """How a convolution goes over rows: ``block`` words a channel, ``channels`` of the blocks of each of a line's rows,
    ``filters`` of the blocks of each pass (-1: none), in ``steps`` from block to block.
    """

    topology: Topology
    block: int
    channels: Sequence[Sequence[int]]
    filters: Sequence[Sequence[int]]
    steps: int
    stride: int = 1
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: int = 1
    offset: int = 0
    order: str = "claimed"
    skips: bool = False
    """Whether steps of rows outside are left out; else ``outside`` is loaded."""
    first_row: int = 0
    weight_row: int = 0
    outside: int = 60

    @property
    def units(self) -> int:
        return self.topology.units.count

    @property
    def blocks(self) -> int:
        return self.units // self.block

    @property
    def is_up(self) -> bool:
        return self.topology.rotation.direction == "up"

    def out_offset(self, columns: int) -> int:
        """Where the first output stands."""
        moved = (columns - 1) * self.dilation if self.is_up else 0
        return (self.offset + moved - self.padding[1]) % self.units

    def met(self, g: int, c: int) -> int:
        """The block that PU block ``g`` meets after ``c`` steps from block to block."""
        return (g - c if self.is_up else g + c) % self.blocks


def input_rows(frame: Frame, x: Array, fill: int = 0) -> dict[int, Array]:
    """The data rows of a map, by their number."""
    rows = {frame.outside: np.full(frame.units, fill)}
    for y, line in enumerate(x):
        for k, held in enumerate(frame.channels):
            row = rows[frame.first_row + y * len(frame.channels) + k] = np.full(frame.units, fill)
            for b, channel in enumerate(held):
                if channel != NOBODY:
                    row[(frame.offset + b * frame.block + np.arange(len(line))) % frame.units] = line[:, channel]
    return rows


def output_words(frame: Frame, row: Sequence[int], width: int, columns: int, of_pass: int = 0) -> dict[int, list[int]]:
    """By filter: the outputs that stand in a row which no out placed elsewhere."""
    first, words = frame.out_offset(columns), np.asarray(row)
    places = first + frame.stride * np.arange(width)
    return {
        f: words[(places + g * frame.block) % frame.units].tolist()
        for g, f in enumerate(frame.filters[of_pass])
        if f != NOBODY
    }


def weight_rows(frame: Frame, w: Array, width: int) -> dict[int, Array]:
    """The weight rows of a convolution whose output has ``width`` columns: skewed by block."""
    _, height, columns, _ = w.shape
    rows: list[Array] = []
    for filters in frame.filters:
        for held in frame.channels:
            meetings = _first_meetings(frame, filters, held)
            for r in range(height):
                for met in meetings:
                    for i in range(columns):
                        s = columns - 1 - i if frame.is_up else i
                        rows.append(_weight_row(frame, w[:, r, s], met, (columns, width)))
    return dict(enumerate(rows, frame.weight_row))


def _first_meetings(frame: Frame, filters: Sequence[int], held: Sequence[int]) -> list[list[tuple[int, int, int]]]:
    """Of each step: PU block, filter and channel, where they meet for the first time."""
    known: set[tuple[int, int]] = set()
    steps = []
    for c in range(frame.steps):
        pairs = [(g, f, held[frame.met(g, c)]) for g, f in enumerate(filters)]
        steps.append([met for met in pairs if NOBODY not in met[1:] and (met[0], met[2]) not in known])
        known.update((g, channel) for g, _, channel in pairs)
    return steps


def _weight_row(frame: Frame, w: Array, met: list[tuple[int, int, int]], sizes: tuple[int, int]) -> Array:
    columns, width = sizes
    row = np.zeros(frame.units, np.int64)
    if met:
        g, f, channel = np.array(met).T
        places = frame.out_offset(columns) + g[:, None] * frame.block + frame.stride * np.arange(width)
        row[places % frame.units] = w[f, channel][:, None]
    return row


def out_plain(first: int, height: int) -> Outs:
    """Outs of all words, each output row of each pass into a row of its own."""
    return lambda j, q: Out(row=Rows(first + j * height + q), clear="zero")


def convolution(frame: Frame, w: Array, lines: int, height: int, outs: Outs) -> list[Instruction]:
    """The instructions of a convolution of a map of ``lines`` lines into one of ``height``."""
    _, rows, columns, _ = w.shape
    ops: list[Instruction] = []
    groups = len(frame.channels)
    for j in range(len(frame.filters)):
        for q in range(height):
            for k in range(groups):
                for r in range(rows):
                    weight = frame.weight_row + ((j * groups + k) * rows + r) * frame.steps * columns
                    for data in _data_row(frame, q, r, k, lines):
                        ops += _filter_row(frame, data, weight, columns)
            ops.append(outs(j, q))
    return ops


def _data_row(frame: Frame, q: int, r: int, k: int, lines: int) -> Iterator[int]:
    line = q * frame.stride + r * frame.dilation - frame.padding[0]
    if 0 <= line < lines:
        yield frame.first_row + line * len(frame.channels) + k
    elif not frame.skips:
        yield frame.outside


def _filter_row(frame: Frame, data: int, weight: int, columns: int) -> Iterator[Instruction]:
    route = _alignment(frame, columns)
    yield _mac(weight, data=Rows(data))
    yield from _columns(frame, weight + 1, columns)
    if frame.steps == 1:
        yield from _turns(route[:-1] if frame.order == "claimed" else ())
        return
    if frame.order == "claimed":
        yield from _turns(route[:-1])
    yield Loop(count=frame.steps - 1)
    if frame.order == "trimmed":
        yield from _turns(route[:-1])
    first, rotate = weight + columns, route[-1] if route else 0
    if columns > 1 and frame.dilation == 1 and rotate == 1:
        yield _mac(first, strides=(columns,), rotate=1, repeat=columns)
    else:
        yield _mac(first, strides=(columns,), rotate=rotate)
        yield from _columns(frame, first + 1, columns, strides=(columns,))
    if frame.order == "claimed":
        yield from _turns(route[:-1])
    yield End()


def _alignment(frame: Frame, columns: int) -> tuple[int, ...]:
    """The rotations from the last column of a channel to the first of the next: the last one is a step's own."""
    words = frame.block - (columns - 1) * frame.dilation
    return frame.topology.rotation.route(words + (frame.units if words < 0 else 0))


def _columns(frame: Frame, weight: int, columns: int, strides: tuple[int, ...] = ()) -> Iterator[Instruction]:
    """All columns but the first."""
    route = frame.topology.rotation.route(frame.dilation)
    if columns > 1 and len(route) == 1:
        yield _mac(weight, strides=strides, rotate=route[0], repeat=columns - 1)
        return
    for i in range(columns - 1):
        yield from _turns(route[:-1])
        yield _mac(weight + i, strides=strides, rotate=route[-1])


def _mac(weight: int, strides: tuple[int, ...] = (), repeat: int = 1, **fields: Any) -> Step:
    rows = Rows(weight, strides, step=1 if repeat > 1 else 0)
    return Step(weights=rows, alu=Alu.MULTIPLY_ADD, repeat=repeat, **fields)


def _turns(route: Sequence[int]) -> Iterator[Instruction]:
    """Rotations, those of a distance in one step."""
    for distance in dict.fromkeys(route):
        yield Step(rotate=distance, repeat=route.count(distance))


def depthwise_rows(frame: Frame, w: Array, width: int) -> dict[int, Array]:
    """The weight rows of a depthwise convolution: PU block g has the channel of block g."""
    channels, height, columns = w.shape
    rows = []
    for held in frame.channels:
        for r in range(height):
            for i in range(columns):
                row = np.zeros(frame.units, np.int64)
                for g, channel in enumerate(held):
                    if channel != NOBODY:
                        places = frame.out_offset(columns) + g * frame.block + frame.stride * np.arange(width)
                        row[places % frame.units] = w[channel, r, columns - 1 - i if frame.is_up else i]
                rows.append(row)
    assert len(rows) == len(frame.channels) * height * columns
    assert channels >= max(channel for held in frame.channels for channel in held)
    return dict(enumerate(rows, frame.weight_row))


def depthwise(frame: Frame, window: tuple[int, int], lines: int, height: int, outs: Outs) -> list[Instruction]:
    """The instructions of a depthwise convolution by ``window``, a pass for each row of a line."""
    rows, columns = window
    ops: list[Instruction] = []
    for j in range(len(frame.channels)):
        for q in range(height):
            for r in range(rows):
                weight = frame.weight_row + (j * rows + r) * columns
                for data in _data_row(frame, q, r, j, lines):
                    ops += [_mac(weight, data=Rows(data)), *_columns(frame, weight + 1, columns)]
            ops.append(outs(j, q))
    return ops


def max_pool(frame: Frame, window: tuple[int, int], lines: int, height: int, outs: Outs) -> list[Instruction]:
    """The instructions of a max pool by ``window``."""
    rows, columns = window
    ops: list[Instruction] = []
    for j in range(len(frame.channels)):
        for q in range(height):
            first = Alu.COPY
            for r in range(rows):
                for data in _data_row(frame, q, r, j, lines):
                    ops.append(Step(data=Rows(data), alu=first))
                    first = Alu.MAX
                    ops += [Step(rotate=1, alu=Alu.MAX, repeat=columns - 1)] if columns > 1 else []
            ops.append(outs(j, q))
    return ops
