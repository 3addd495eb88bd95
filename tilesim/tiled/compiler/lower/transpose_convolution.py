"""Transposed convolutions: outputs that lie a whole number of strides apart get the same weights.

Of each such phase of rows and columns the layer is a convolution of its own, without strides, over fewer taps, whose
results lie a stride apart in the output: a tensorop a phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tilesim.network.operators import Convolution, Padding, TransposeConvolution
from tilesim.tiled.compiler.feature_map import MapPart
from tilesim.tiled.compiler.lower.convolution import lower_convolution
from tilesim.tiled.compiler.task import TileTask
from tilesim.tiled.compiler.traits import TileTraits, constant_weights, spread_by_kernel
from tilesim.tiled.isa.model.instructions import TensorOp

Array = NDArray[Any]


class Phase(Struct, frozen=True):
    """Output positions ``stride`` apart, of which the k-th counted from ``first`` on reads input positions up to
    ``first`` + k with ``taps`` of the kernel, those of the last input position first.
    """

    number: int
    first: int
    outputs: range
    taps: range


def phases(block: range, stride: int, cropped: int, kernel: int) -> Iterator[Phase]:
    """Those of an axis that have outputs in a tile's block."""
    for number in range(stride):
        start = block.start + (number - block.start - cropped) % stride
        outputs = range(start, block.stop, stride)
        if outputs:
            yield Phase(number, (start + cropped) // stride, outputs, range(number, kernel, stride))


def lower_transpose_convolution(task: TileTask, op: TransposeConvolution) -> list[TensorOp]:
    """The loops of a convolution, for each phase."""
    _, height, width, _ = task.constants[0].shape
    return [
        tensorop
        for down in phases(task.output.block_rows, op.strides[0], op.cropped[0], height)
        for across in phases(task.output.block_columns, op.strides[1], op.cropped[1], width)
        for tensorop in _phase(task, op, down, across)
    ]


def _phase(task: TileTask, op: TransposeConvolution, down: Phase, across: Phase) -> list[TensorOp]:
    weights, bias = task.constants
    kernel = _kernel(weights, op.weight_zero_point, down, across)
    # the last input position that a window reads is that of its number
    padding = Padding(kernel.shape[1] - 1, kernel.shape[2] - 1)
    convolution = Convolution(
        (1, 1), padding, (1, 1), 1,
        op.input_zero_point, op.weight_zero_point, op.output_zero_point, op.rule, op.multiplier, op.shift, op.clamp,
    )  # fmt: skip
    mine = replace(task, output=_apart(task.output, op.strides, down, across), keep=_keeping(task, down, across))
    return lower_convolution(mine.with_constants((kernel, bias)), convolution)


def _kernel(weights: Array, zero_point: int, down: Phase, across: Phase) -> Array:
    """The taps of a phase, turned round as those of convolutions are; one of zero where there is none."""
    if not down.taps or not across.taps:
        return np.full_like(weights[:, :1, :1], zero_point)
    return weights[:, down.taps][:, :, across.taps][:, ::-1, ::-1]


def _apart(output: MapPart, strides: tuple[int, int], down: Phase, across: Phase) -> MapPart:
    """The outputs of a phase as a map of their own, whose rows and pixels lie a stride apart."""
    rows, columns = (range(phase.first, phase.first + len(phase.outputs)) for phase in (down, across))
    return replace(
        output,
        rows=rows,
        columns=columns,
        block_rows=rows,
        block_columns=columns,
        address=output.at(down.outputs.start, across.outputs.start),
        row_bytes=strides[0] * output.row_bytes,
        pixel_bytes=strides[1] * output.pixel_bytes,
        pixels=1,
    )


def _keeping(task: TileTask, down: Phase, across: Phase) -> Callable[[str, Callable[[], Array], int], int]:
    """Weights for each phase, what is added and multiplied for all."""

    def keep(part: str, make: Callable[[], Array], multiple: int) -> int:
        name = f"{part}.{down.number}.{across.number}" if part == "weights" else part
        return task.keep(name, make, multiple)

    return keep


OPERATORS: Mapping[type[Any], TileTraits] = {
    TransposeConvolution: TileTraits(lower_transpose_convolution, spread_by_kernel, constant_weights, in_chunks=True)
}
