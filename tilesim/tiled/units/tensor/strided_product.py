"""Convolution and depthwise tensorops whose addresses are regular: a few operations on whole operands.

The result groups are rows times columns: loops that move no weights and no parameters make the rows (pixels), the
others, and the lanes, the columns (channels). A convolution is a matrix product of what views of narrow and of wide
memory show, or one for each block of lanes if columns move the input, too; in a depthwise one each column has its own
input, beside that of the one before. Whatever is not so goes address by address, with the same results:
:mod:`tilesim.tiled.units.tensor.mac_array`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import prod
from string import ascii_lowercase
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import FLOAT32_EXACT, FLOAT64_EXACT, magnitude
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.topology import LANE_BYTES
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.activation_unit import biased, parameter_registers
from tilesim.tiled.units.tensor.operands import Operands
from tilesim.tiled.units.tensor.operations import ELEMENT_DTYPES, saturated, sums_type
from tilesim.tiled.units.tensor.sums import from_registers, to_registers
from tilesim.tiled.units.tensor.weight_cache import (
    EIGHT,
    CacheEntry,
    LaneWeights,
    WeightCache,
    added_up,
    joined,
    products_at_once,
)
from tilesim.tiled.units.tensor.windows import (
    Box,
    GroupGrid,
    Moved,
    Range,
    StridedView,
    apart,
    contiguous,
    exist,
    extent,
    parted,
)

Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

PRODUCTS = (Operation.CONVOLUTION, Operation.DEPTHWISE)
NAMES = ("input", "weights", "parameters", "sums_in", "sums_out", "output")
INT32 = np.dtype(np.int32)
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
BYTE = np.dtype(np.uint8)
SHORT_RUN = 512
"""LaneWeights of a depthwise operation below which it pays to multiply several pixels in one run."""
BLOCK_ELEMENTS = 1 << 18
"""Inputs that are multiplied at once, where samples are many: as floats they stay in the processor's cache."""
SPARSE = 8
"""Bytes from the first to the last input of a depthwise operation for each of its products, at most."""


@dataclass(frozen=True)
class ProductViews:
    """Where a box of result groups finds its operands and puts its results; which columns it has."""

    columns: Range
    rows: tuple[int, ...]
    input: StridedView
    span: Range
    output: StridedView | None
    sums_in: StridedView | None
    sums_out: StridedView | None


@dataclass(frozen=True)
class StridedProduct:
    """A tensorop of products on regular addresses; see the module.

    ``columns``: how many there are, those left out that an alternate limit leaves out. ``run``: as how many pixels of a
    depthwise operation the weights stand side by side.
    """

    op: TensorOp
    grid: GroupGrid
    columns: int
    inputs: int
    run: int
    memories: TileMemories
    moved: dict[str, Moved]
    entry: CacheEntry
    cache: WeightCache
    places: dict[Box, ProductViews] = field(default_factory=dict)

    @cached_property
    def wide(self) -> bool:
        """Whether operands have 16 bits, their sums 64."""
        return self.op.sum_registers > 1

    @cached_property
    def floats(self) -> np.dtype[Any]:
        """What holds sums exactly, as far as :func:`~tilesim.tiled.units.tensor.weight_cache.products_at_once` says."""
        return FLOAT64 if self.wide else FLOAT32

    @cached_property
    def step_bounds(self) -> tuple[int, ...]:
        return self.grid.step_bounds

    @cached_property
    def grouped(self) -> bool:
        """Whether each block of a convolution's lanes has an input of its own."""
        return self.op.operation is Operation.CONVOLUTION and any(self.grid.of_columns(self.moved["input"].groups))

    @cached_property
    def word_stride_bytes(self) -> int:
        """From one word of a group's output to the next, if they lie apart, else 0."""
        return _word_stride_bytes(self.op)

    def weights(self, memories: TileMemories) -> LaneWeights | None:
        """What lanes multiply by; None if samples have weights of their own."""
        return self.cache.lookup(self.entry, memories.wide.blocks, self._columns)

    def move(self, memories: TileMemories, box: Box, weights: LaneWeights | None = None) -> bool:
        """Compute the groups in ``box``, with the ``weights`` that there are; False, and nothing done, if the samples
        have some of their own, or sums may be too large for floats.
        """
        columns = weights or self.weights(memories)
        if columns is None:
            return False
        place = self.places.get(box)
        if place is None:
            place = self.places[box] = self._place(box)
        if columns.bound > FLOAT64_EXACT:
            return False
        multiply = self._convolve if self.op.operation is Operation.CONVOLUTION else self._multiply_bytes
        in_bytes = place.sums_in is place.sums_out is None and not self.wide and self.op.output_type.bytes == 1
        scale = columns.scaler(self.op, place.columns) if in_bytes else None
        if scale is None:
            self._finish(place, columns, multiply(place, columns, memories.narrow.blocks), memories)
            return True
        for narrow in parted(memories.narrow.blocks, BLOCK_ELEMENTS // prod(place.input.shape)):
            self._write(place, scale(multiply(place, columns, narrow)), narrow)
        return True

    def _convolve(self, place: ProductViews, columns: LaneWeights, narrow: Sequence[Bytes]) -> Floats:
        """(samples × rows, columns)."""
        weights, count = columns.weights[:, slice(*place.columns)], len(columns.weights)
        x = place.input.read(narrow, self.floats)
        if not self.grouped:
            return _products(x.reshape(-1, count), weights, columns.at_once)
        weights = weights.reshape(count, -1, self.grid.lanes).transpose(1, 0, 2)
        sums = _products(x.reshape(len(x), len(weights), -1, count), weights, columns.at_once)
        return sums.transpose(0, 2, 1, 3).reshape(-1, place.columns[1] - place.columns[0])

    def _multiply_bytes(self, place: ProductViews, columns: LaneWeights, narrow: Sequence[Bytes]) -> Floats:
        """(samples × rows, columns). All bytes from the first input to the last become numbers first."""
        window, (low, end) = place.input, place.span
        numbers = np.concatenate([block[:, low:end].view(window.dtype) for block in narrow], dtype=self.floats)
        times = self.floats.itemsize // window.dtype.itemsize
        strides = tuple(times * stride for stride in window.strides)
        x = StridedView(times * (window.base - low), window.shape, strides, self.floats).view(numbers)
        first, last = place.columns[0], place.columns[0] + window.shape[-1]
        weights = columns.weights.reshape(*self.step_bounds, -1)[..., first:last]
        sums: Floats = np.einsum(_subscripts(x.ndim, len(self.step_bounds)), x, weights)
        return sums.reshape(-1, place.columns[1] - place.columns[0])

    def _finish(self, place: ProductViews, columns: LaneWeights, sums: Floats, memories: TileMemories) -> None:
        """By way of int32 sums, or int64."""
        part, kind = slice(*place.columns), sums_type(self.op)
        whole = sums.astype(np.int64).astype(kind) + columns.correction[part].astype(kind)
        if place.sums_in is not None:
            rows = np.moveaxis(place.sums_in.read(memories.wide.blocks), 1, -2)
            whole += np.ascontiguousarray(from_registers(rows)).reshape(whole.shape)
        if place.sums_out is not None:
            registers = to_registers(whole.reshape(-1, *place.sums_out.shape[1:])).view(INT32)
            for samples, view in place.sums_out.views(memories.wide.blocks):
                np.moveaxis(view, 1, -2)[...] = registers[samples]
            return
        if columns.parameters is not None:
            whole = biased(self.op, whole, columns.parameters[:, part])
        self._write(place, saturated(self.op, whole), memories.narrow.blocks)

    def _write(self, place: ProductViews, data: NDArray[np.uint8], narrow: Sequence[Bytes]) -> None:
        assert place.output is not None
        shape, rows = place.output.shape, len(place.rows)
        count = (place.columns[1] - place.columns[0]) * self.op.output_type.bytes
        in_bytes = len(shape) == rows + 1
        data = data.reshape(-1, *((*shape[:-1], count) if in_bytes else shape))
        for samples, view in place.output.views(narrow):
            if self.word_stride_bytes and rows:  # one after the other along the last rows, which may meet
                for k in range(place.rows[-1]):
                    view[(slice(None),) * rows + (k,)] = data[samples][(slice(None),) * rows + (k,)]
            elif in_bytes and count < shape[-1]:
                view[..., :count] = data[samples]
                view[..., count:] = 0  # a word that lanes don't fill
            else:
                view[...] = data[samples]

    def _columns(self, wide: Bytes) -> LaneWeights:
        """From one sample's bytes."""
        op, grid = self.op, self.grid
        moved, bounds = self.moved["weights"], grid.column_bounds
        shape, dtype = (*bounds, *self.step_bounds, grid.lanes, self.inputs), ELEMENT_DTYPES[op.weight_type]
        strides = (*grid.of_columns(moved.groups), *moved.steps, self.inputs * dtype.itemsize, dtype.itemsize)
        view = StridedView(moved.base, shape, strides, dtype).view(wide)[0]
        blocks, steps = len(bounds), len(self.step_bounds)
        order = (*range(blocks, blocks + steps), view.ndim - 1, *range(blocks), view.ndim - 2)
        products = prod(self.step_bounds) * self.inputs
        weights = np.ascontiguousarray(view.transpose(order)).astype(self.floats).reshape(products, -1)
        weights = weights[:, : self.columns]
        if op.weight_zero_point:
            weights = weights - self.floats.type(op.weight_zero_point)
        exact = FLOAT64_EXACT if self.wide else FLOAT32_EXACT
        at_once, bound = products_at_once(weights, magnitude(ELEMENT_DTYPES[op.input_type]), exact)
        correction = -op.input_zero_point * added_up(weights).astype(np.int64)
        weights = np.tile(weights, self.run) if self.run > 1 else np.ascontiguousarray(weights)
        return LaneWeights(weights, correction, self._parameters(wide), at_once, bound)

    def _parameters(self, wide: Bytes) -> NDArray[np.int32] | None:
        moved = self.moved.get("parameters")
        if moved is None:
            return None
        count = parameter_registers(self.op)
        shape = (count, *self.grid.column_bounds, self.grid.lanes)
        strides = (self.memories.register_bytes, *self.grid.of_columns(moved.groups), LANE_BYTES)
        view: NDArray[np.int32] = StridedView(moved.base, shape, strides, INT32).view(wide)[0]
        registers = view.reshape(count, -1)
        return registers[:, : self.columns].copy()  # the memory may hold something else when they serve again

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
            shape = (*blocks, *rows, *self.step_bounds, self.inputs)
            by_block = grid.of_columns(moved.groups) if self.grouped else ()
            return StridedView(base, shape, (*by_block, *strides, *moved.steps, dtype.itemsize), dtype)
        count = columns[1] - columns[0]
        if self.run > 1 and count == self.columns:
            rows, strides, count = rows[:-1], strides[:-1], count * rows[-1]
        shape = (*self.step_bounds, *rows, count)
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


def strided_product(
    op: TensorOp, operands: Operands, memories: TileMemories, inputs_per_cycle: int, cache: WeightCache
) -> StridedProduct | None:
    """How to compute ``op`` at once on every tile with such memories, if its addresses are regular."""
    if op.operation not in PRODUCTS or op.weights is None or memories.wide.size_bytes % EIGHT:
        return None
    groups, steps = operands.group_nest.loops, operands.step_nest.loops
    references = {name: getattr(op, name) for name in NAMES if getattr(op, name) is not None}
    if op.sums_out is not None:
        references.pop("output", None)
    moved = {name: Moved.of(reference, groups, steps) for name, reference in references.items()}
    moving = [moved[name] for name in ("weights", "parameters") if name in moved]
    grid = GroupGrid.of(groups, steps, operands.lane_bound, moving)
    columns = grid.columns_within(op.nest.alternate)
    inputs = inputs_per_cycle if op.operation is Operation.CONVOLUTION else 1
    spans = _spans(op, grid, moved, inputs, memories)
    if columns is None or not exist(spans, memories) or not _is_regular(op, grid, moved, columns, memories):
        return None
    ranges = _ranges(op, grid, moved, inputs, memories)
    run = _run(op, grid, moved["input"], columns)
    key = (
        op.operation, op.weights, op.parameters, grid.column_loops, grid.steps, grid.lanes, columns, run, op.rule,
        op.input_type, op.weight_type, op.output_type, op.input_zero_point, op.weight_zero_point, op.output_zero_point,
        op.clamp,
    )  # fmt: skip
    return StridedProduct(op, grid, columns, inputs, run, memories, moved, cache.entry(key, ranges), cache)


def _run(op: TensorOp, grid: GroupGrid, moved: Moved, columns: int) -> int:
    """How many depthwise pixels, side by side, are multiplied in one run."""
    if op.operation is Operation.CONVOLUTION or not grid.row_bounds or columns != grid.columns or columns >= SHORT_RUN:
        return 1
    pixel_bytes = columns * op.input_type.bytes
    return grid.row_bounds[-1] if grid.of_rows(moved.groups)[-1] == pixel_bytes else 1


def _ranges(
    op: TensorOp, grid: GroupGrid, moved: dict[str, Moved], inputs: int, memories: TileMemories
) -> tuple[Range, ...]:
    """The bytes of wide memory that columns are made of."""
    bounds = grid.column_bounds
    weights = moved["weights"]
    strides = (*grid.of_columns(weights.groups), *weights.steps)
    width = grid.lanes * inputs * op.weight_type.bytes
    spans = [(weights.base, extent((*bounds, *grid.step_bounds), strides, width))]
    if "parameters" in moved:
        parameters = moved["parameters"]
        width = _parameter_bytes(op, grid, memories)
        spans.append((parameters.base, extent(bounds, grid.of_columns(parameters.groups), width)))
    return joined([(base + low, base + end) for base, (low, end) in spans])


def _parameter_bytes(op: TensorOp, grid: GroupGrid, memories: TileMemories) -> int:
    """From the first register's bytes of a block's parameters to the last lane of the last one."""
    return (parameter_registers(op) - 1) * memories.register_bytes + LANE_BYTES * grid.lanes


def _is_regular(op: TensorOp, grid: GroupGrid, moved: dict[str, Moved], columns: int, memories: TileMemories) -> bool:
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
    op: TensorOp, grid: GroupGrid, moved: dict[str, Moved], inputs: int, memories: TileMemories
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


def _products(x: NDArray[Any], weights: NDArray[Any], at_once: int) -> Floats:
    """Matrix products (..., rows, columns), of which floats add up so many terms exactly."""
    count = weights.shape[-2]
    if at_once >= count:
        return np.asarray(x @ weights)
    sums = np.zeros((*x.shape[:-1], weights.shape[-1]))
    for start in range(0, count, at_once):
        sums += x[..., start : start + at_once] @ weights[..., start : start + at_once, :]
    return sums


@cache
def _subscripts(axes: int, steps: int) -> str:
    """For einsum: (samples, steps, pixels, columns) times (steps, columns), added up over the steps."""
    letters = ascii_lowercase[:axes]
    over, pixels = letters[1 : 1 + steps], letters[1 + steps :]
    return f"{letters},{over}{letters[-1]}->{letters[0]}{pixels}"
