"""Pools and means: windows of a map, or the whole of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tilesim.network.operators import AveragePool, MaxPool, Mean
from tilesim.network.operators.windows import output_size
from tilesim.systolic.compiler.boxes import together, windows_over
from tilesim.systolic.compiler.call import ArrayTraits, TaskCall
from tilesim.systolic.compiler.lower.elementwise import LEAST_CYCLES, MOST_PIECES
from tilesim.systolic.compiler.weight_tiles import cuts
from tilesim.systolic.isa.model.instructions import Instruction, Pool, Pooling, Window

PoolOperator: TypeAlias = MaxPool | AveragePool | Mean


def lower_pool(call: TaskCall, op: PoolOperator) -> Iterator[Instruction]:
    """Some rows at a time of each image; maps of one pixel go together where they lie equally far apart."""
    shape, size = call.input.shape, call.input.dtype.itemsize
    window, stride = window_of(op, shape, size), shape[-1] * size
    made = window.output_height * window.output_width
    for images in together(call.sources[0], call.targets, pitches={1: 0} if made > 1 else {}):
        for row, rows in cuts(window.output_height, _rows(call, window)):
            top = window.padding[0] - row * window.strides[0]
            yield Pool(
                window=replace(
                    window,
                    address=call.sources[0][images.first],
                    images=images.count,
                    image_bytes=images.pitches[0] or window.image_bytes,
                    output_height=rows,
                    padding=(top, window.padding[1]),
                ),
                pool=pooling_of(op, shape),
                element=call.element,
                address=call.targets[images.first] + row * window.output_width * stride,
                stride_bytes=images.pitches[1] or stride,
            )


def _rows(call: TaskCall, window: Window) -> int:
    """Output rows of a part that is worth an instruction."""
    taps = window.kernel[0] * window.kernel[1]
    cycles = window.output_width * taps * -(-window.channels // call.topology.vector_unit.lanes)
    return max(-(-LEAST_CYCLES // cycles), -(-window.output_height // MOST_PIECES))


def window_of(op: PoolOperator, shape: Sequence[int], element_bytes: int = 1) -> Window:
    """What a pool runs over a map of ``shape``, at address 0; a mean has one window, the whole map."""
    _, height, width, _ = shape
    if isinstance(op, Mean):
        return replace(windows_over(shape, (1, 1), element_bytes), kernel=(height, width))
    output = output_size((height, width), op.window, op.strides, op.padding)
    return replace(
        windows_over(shape, output, element_bytes),
        kernel=op.window,
        strides=op.strides,
        padding=(op.padding.top, op.padding.left),
    )


def pooling_of(op: PoolOperator, shape: Sequence[int]) -> Pooling:
    """What a pool does with each window of a map of ``shape``."""
    if isinstance(op, MaxPool):
        return Pooling("max", op.clamp)
    if isinstance(op, Mean):
        scalings: tuple[tuple[int, ...], ...] = ((shape[1] * shape[2], int(op.multiplier), int(op.shift)),)
        inside_only = True
    else:
        counts = np.unique(op.counts(shape[1], shape[2]))
        scalings = tuple((int(count), *op.scaling(int(count))) for count in counts)
        inside_only = not op.count_includes_padding
    return Pooling("average", op.clamp, op.rule, scalings, inside_only, op.input_zero_point, op.output_zero_point)


OPERATORS = dict.fromkeys((AveragePool, MaxPool, Mean), ArrayTraits(lower_pool, on_map=True))
