"""What products have in common that differ only in where their operands begin: whether their addresses are regular, and
how to see them.

The result groups are rows times columns: loops that move no weights and no parameters make the rows (pixels), the
others, and the lanes, the columns (channels). A convolution is a matrix product of what views of narrow and of wide
memory show, or one for each block of lanes if columns move the input, too; in a depthwise one each column has its own
input, beside that of the one before.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct, field

from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.topology import LANE_BYTES
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.activation_unit import parameter_registers
from tilesim.tiled.units.tensor.operands import Operands
from tilesim.tiled.units.tensor.operations import ELEMENT_DTYPES
from tilesim.tiled.units.tensor.weight_cache import EIGHT, joined
from tilesim.tiled.units.tensor.windows import (
    Box,
    GroupGrid,
    Moved,
    Range,
    StridedView,
    apart,
    contiguous,
    extent,
)

PRODUCTS = (Operation.CONVOLUTION, Operation.DEPTHWISE)
NAMES = ("input", "weights", "parameters", "sums_in", "sums_out", "output")
INT32 = np.dtype(np.int32)
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
BYTE = np.dtype(np.uint8)
SHORT_RUN = 512
"""Columns of a depthwise operation below which it pays to multiply several pixels in one run."""
SPARSE = 8
"""Bytes from the first to the last input of a depthwise operation for each of its products, at most."""


class ProductViews(Struct, frozen=True):
    """Where a box of result groups finds its operands and puts its results, from where each operand begins; which
    columns it has.
    """

    columns: Range
    rows: tuple[int, ...]
    input: StridedView
    span: Range
    output: StridedView | None
    sums_in: StridedView | None
    sums_out: StridedView | None


class ProductForm(Struct, frozen=True, dict=True):
    """Tensorops of products on regular addresses, alike but for where these begin; ``op`` is one of them.

    ``columns``: how many there are, those left out that an alternate limit leaves out. ``run``: as how many pixels of a
    depthwise operation the weights stand side by side. ``spans``: the bytes that are addressed, ``made_of`` those of
    wide memory that columns are made of, by operand, from where that begins.
    """

    op: TensorOp
    grid: GroupGrid
    columns: int
    inputs: int
    run: int
    memories: TileMemories
    moved: Mapping[str, Moved]
    spans: Mapping[str, Range]
    made_of: Mapping[str, Range]
    places: dict[Box, ProductViews] = field(default_factory=dict)

    @cached_property
    def kind(self) -> Hashable:
        """What tells how columns are made of bytes."""
        op, grid = self.op, self.grid
        strides = [(grid.of_columns(self.moved[name].groups), self.moved[name].steps) for name in self.made_of]
        return (
            op.operation, *strides, grid.column_loops, grid.steps, grid.lanes, self.columns, self.run, op.rule,
            op.input_type, op.weight_type, op.output_type, op.input_zero_point, op.weight_zero_point,
            op.output_zero_point, op.clamp,
        )  # fmt: skip

    @cached_property
    def wide(self) -> bool:
        """Whether operands have 16 bits, their sums 64."""
        return self.op.sum_registers > 1

    @cached_property
    def floats(self) -> np.dtype[Any]:
        """What holds sums exactly, as far as :func:`~tilesim.tiled.units.tensor.weight_cache.products_at_once` says."""
        return FLOAT64 if self.wide else FLOAT32

    @cached_property
    def grouped(self) -> bool:
        """Whether each block of a convolution's lanes has an input of its own."""
        return self.op.operation is Operation.CONVOLUTION and any(self.grid.of_columns(self.moved["input"].groups))

    @cached_property
    def word_stride_bytes(self) -> int:
        """From one word of a group's output to the next, if they lie apart, else 0."""
        return _word_stride_bytes(self.op)

    def begin_at(self, bases: Mapping[str, int]) -> tuple[Range, ...] | None:
        """The bytes of wide memory that columns are made of where operands begin there; None where some operand would
        not be in its memory.
        """
        narrow, wide = self.memories.narrow.size_bytes, self.memories.wide.size_bytes
        for name, (low, end) in self.spans.items():
            if bases[name] + low < 0 or bases[name] + end > (narrow if name in ("input", "output") else wide):
                return None
        return joined([(bases[name] + low, bases[name] + end) for name, (low, end) in self.made_of.items()])

    def weights_view(self) -> StridedView:
        """Weights as (blocks of columns, steps, lanes, inputs)."""
        moved, bounds, dtype = self.moved["weights"], self.grid.column_bounds, ELEMENT_DTYPES[self.op.weight_type]
        shape = (*bounds, *self.grid.step_bounds, self.grid.lanes, self.inputs)
        strides = (*self.grid.of_columns(moved.groups), *moved.steps, self.inputs * dtype.itemsize, dtype.itemsize)
        return StridedView(0, shape, strides, dtype)

    def parameters_view(self) -> StridedView:
        """Parameters as (registers, blocks of columns, lanes)."""
        strides = self.grid.of_columns(self.moved["parameters"].groups)
        shape = (parameter_registers(self.op), *self.grid.column_bounds, self.grid.lanes)
        return StridedView(0, shape, (self.memories.register_bytes, *strides, LANE_BYTES), INT32)

    def place(self, box: Box) -> ProductViews:
        """Where a box has its operands."""
        if box not in self.places:
            self.places[box] = self._place(box)
        return self.places[box]

    def _place(self, box: Box) -> ProductViews:
        grid = self.grid
        first, end = grid.columns_in(box)
        columns = first, min(end, self.columns)
        rows = grid.rows_in(box)
        window = self._input(box, rows, columns)
        low, high = extent(window.shape, window.strides, window.dtype.itemsize)
        output = self._output(box, rows, columns) if "output" in self.moved else None
        sums = (self._sums(name, box) for name in ("sums_in", "sums_out"))
        return ProductViews(columns, rows, window, (window.base + low, window.base + high), output, *sums)

    def _input(self, box: Box, rows: tuple[int, ...], columns: Range) -> StridedView:
        moved, grid = self.moved["input"], self.grid
        base, dtype = moved.first(box), ELEMENT_DTYPES[self.op.input_type]
        strides = grid.of_rows(moved.groups)
        if self.op.operation is Operation.CONVOLUTION:
            blocks = grid.blocks_in(box) if self.grouped else ()
            shape = (*blocks, *rows, *self.grid.step_bounds, self.inputs)
            by_block = grid.of_columns(moved.groups) if self.grouped else ()
            return StridedView(base, shape, (*by_block, *strides, *moved.steps, dtype.itemsize), dtype)
        count = columns[1] - columns[0]
        if self.run > 1 and count == self.columns:
            rows, strides, count = rows[:-1], strides[:-1], count * rows[-1]
        shape = (*self.grid.step_bounds, *rows, count)
        return StridedView(base, shape, (*moved.steps, *strides, dtype.itemsize), dtype)

    def _output(self, box: Box, rows: tuple[int, ...], columns: Range) -> StridedView:
        moved, grid = self.moved["output"], self.grid
        base, strides, bounds = moved.first(box), grid.of_rows(moved.groups), grid.blocks_in(box)
        unit, blocks = self.memories.result_bytes(self.op), grid.of_columns(moved.groups)
        size = self.op.output_type.bytes
        if self.word_stride_bytes:
            shape = (*rows, *bounds, grid.lanes * size // unit, unit)
            return StridedView(base, shape, (*strides, *blocks, self.word_stride_bytes, 1), BYTE)
        if contiguous(bounds, blocks, grid.lanes * size):
            count = -(-(columns[1] - columns[0]) * size // unit) * unit
            return StridedView(base, (*rows, count), (*strides, 1), BYTE)
        return StridedView(base, (*rows, *bounds, grid.lanes * size), (*strides, *blocks, 1), BYTE)

    def _sums(self, name: str, box: Box) -> StridedView | None:
        moved, grid = self.moved.get(name), self.grid
        if moved is None:
            return None
        shape = (self.op.sum_registers, *grid.rows_in(box), *grid.blocks_in(box), grid.lanes)
        strides = (
            self.memories.register_bytes,
            *grid.of_rows(moved.groups),
            *grid.of_columns(moved.groups),
            LANE_BYTES,
        )
        return StridedView(moved.first(box), shape, strides, INT32)


def product_form(op: TensorOp, operands: Operands, memories: TileMemories, inputs_per_cycle: int) -> ProductForm | None:
    """How to compute ``op``, and what is alike, at once on every tile with such memories, if addresses are regular."""
    if op.operation not in PRODUCTS or op.weights is None or memories.wide.size_bytes % EIGHT:
        return None
    groups, steps = operands.group_nest.loops, operands.step_nest.loops
    references = {name: getattr(op, name) for name in NAMES if getattr(op, name) is not None}
    if op.sums_out is not None:
        references.pop("output", None)
    moved = {name: Moved.of(reference._replace(base=0), groups, steps) for name, reference in references.items()}
    moving = [moved[name] for name in ("weights", "parameters") if name in moved]
    grid = GroupGrid.of(groups, steps, operands.lane_bound, moving)
    columns = grid.columns_within(op.nest.alternate)
    inputs = inputs_per_cycle if op.operation is Operation.CONVOLUTION else 1
    if columns is None or not _is_regular(op, grid, moved, columns, memories):
        return None
    run, spans = _run(op, grid, moved["input"], columns), _spans(op, grid, moved, inputs, memories)
    return ProductForm(
        op, grid, columns, inputs, run, memories, moved, spans, _made_of(op, grid, moved, inputs, memories)
    )


def _run(op: TensorOp, grid: GroupGrid, moved: Moved, columns: int) -> int:
    """How many depthwise pixels, side by side, are multiplied in one run."""
    if op.operation is Operation.CONVOLUTION or not grid.row_bounds or columns != grid.columns or columns >= SHORT_RUN:
        return 1
    pixel_bytes = columns * op.input_type.bytes
    return grid.row_bounds[-1] if grid.of_rows(moved.groups)[-1] == pixel_bytes else 1


def _made_of(
    op: TensorOp, grid: GroupGrid, moved: Mapping[str, Moved], inputs: int, memories: TileMemories
) -> Mapping[str, Range]:
    """The bytes of wide memory that columns are made of, by operand."""
    bounds, weights = grid.column_bounds, moved["weights"]
    strides = (*grid.of_columns(weights.groups), *weights.steps)
    made_of = {"weights": extent((*bounds, *grid.step_bounds), strides, grid.lanes * inputs * op.weight_type.bytes)}
    if "parameters" in moved:
        strides = grid.of_columns(moved["parameters"].groups)
        made_of["parameters"] = extent(bounds, strides, _parameter_bytes(op, grid, memories))
    return made_of


def _parameter_bytes(op: TensorOp, grid: GroupGrid, memories: TileMemories) -> int:
    """From the first register's bytes of a block's parameters to the last lane of the last one."""
    return (parameter_registers(op) - 1) * memories.register_bytes + LANE_BYTES * grid.lanes


def _is_regular(
    op: TensorOp, grid: GroupGrid, moved: Mapping[str, Moved], columns: int, memories: TileMemories
) -> bool:
    """Whether the input moves as the operation needs it, and no two results go to the same place."""
    if not _input_is_regular(op, grid, moved["input"], columns):
        return False
    if "sums_out" in moved and not apart(grid.bounds, moved["sums_out"].groups, _sums_bytes(op, grid, memories)):
        return False
    if "sums_in" in moved and any(moved["sums_in"].steps):
        return False
    if {"sums_in", "sums_out"} & moved.keys() and columns != grid.columns:
        return False
    return "output" not in moved or _output_is_regular(op, grid, moved["output"], columns, memories.result_bytes(op))


def _sums_bytes(op: TensorOp, grid: GroupGrid, memories: TileMemories) -> int:
    """From the first register's bytes of a group's sums to the last lane of the last one."""
    return (op.sum_registers - 1) * memories.register_bytes + LANE_BYTES * grid.lanes


def _input_is_regular(op: TensorOp, grid: GroupGrid, moved: Moved, columns: int) -> bool:
    blocks, size = grid.of_columns(moved.groups), op.input_type.bytes
    if any(stride % size for stride in (*moved.groups, *moved.steps)):
        return False
    if op.operation is Operation.CONVOLUTION:
        return columns == grid.columns or not any(blocks)
    return contiguous(grid.column_bounds, blocks, grid.lanes * size) and not _is_sparse(grid, moved, size)


def _spans(
    op: TensorOp, grid: GroupGrid, moved: Mapping[str, Moved], inputs: int, memories: TileMemories
) -> dict[str, Range]:
    """All bytes that are addressed."""
    lanes, unit, sums = grid.lanes, memories.result_bytes(op), _sums_bytes(op, grid, memories)
    words = -(-lanes * op.output_type.bytes // unit)
    widths = {
        "input": (inputs if op.operation is Operation.CONVOLUTION else lanes) * op.input_type.bytes,
        "weights": lanes * inputs * op.weight_type.bytes, "parameters": _parameter_bytes(op, grid, memories),
        "sums_in": sums, "sums_out": sums, "output": (words - 1) * (_word_stride_bytes(op) or unit) + unit,
    }  # fmt: skip
    by_step = ("input", "weights")
    return {name: grid.span(operand, name in by_step, widths[name]) for name, operand in moved.items()}


def _is_sparse(grid: GroupGrid, moved: Moved, element_bytes: int) -> bool:
    bounds, strides = (*grid.step_bounds, *grid.row_bounds), (*moved.steps, *grid.of_rows(moved.groups))
    low, end = extent(bounds, strides, grid.columns * element_bytes)
    return end - low > SPARSE * prod(bounds) * grid.columns * element_bytes


def _output_is_regular(op: TensorOp, grid: GroupGrid, moved: Moved, columns: int, unit_bytes: int) -> bool:
    """Lanes fill what is written of words, but for the last ones, what is left out is at the end, and none meet."""
    element_bytes = op.output_type.bytes
    width = grid.lanes * element_bytes
    if word_stride := _word_stride_bytes(op):
        if columns != grid.columns or width % unit_bytes or word_stride < 0:
            return False
        bounds, strides = (*grid.bounds, width // unit_bytes), (*moved.groups, word_stride)
        return apart(bounds, strides, unit_bytes) or _repeats(grid, moved, word_stride, width // unit_bytes, unit_bytes)
    if prod(grid.column_bounds) > 1 and width % unit_bytes:
        return False
    if contiguous(grid.column_bounds, grid.of_columns(moved.groups), width):
        row_bytes = -(-columns * element_bytes // unit_bytes) * unit_bytes
        return apart(grid.row_bounds, grid.of_rows(moved.groups), row_bytes)
    if columns != grid.columns:
        return False
    return apart(grid.bounds, moved.groups, -(-width // unit_bytes) * unit_bytes)


def _repeats(grid: GroupGrid, moved: Moved, word_stride: int, words: int, unit_bytes: int) -> bool:
    """Whether groups whose words lie apart meet just in words that the one before wrote: along the innermost loop, by
    which they move a number of words on.
    """
    step, bound = moved.groups[-1], grid.bounds[-1]
    if not grid.row_places or grid.row_places[-1] != len(grid.bounds) - 1 or step <= 0 or step % word_stride:
        return False
    run = words + step // word_stride * (bound - 1)
    return apart((*grid.bounds[:-1], run), (*moved.groups[:-1], word_stride), unit_bytes)


def _word_stride_bytes(op: TensorOp) -> int:
    return dict(op.output.strides).get(op.nest.loops[-1].name, 0) if op.output and op.sums_out is None else 0
