"""Tensorops that work element by element, without weights, whose addresses are regular: a few operations on whole
operands.

Whatever is not so goes address by address, with the same results: :mod:`tilesim.tiled.units.tensor.mac_array`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import FLOAT32_EXACT, magnitude
from tilesim.arithmetic.scaler import Scaler, scaler
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.accesses import TABLE_BYTES
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.operands import Operands
from tilesim.tiled.units.tensor.operations import ARITHMETIC, ELEMENT_DTYPES, Array, saturated, scaled
from tilesim.tiled.units.tensor.windows import Box, GroupGrid, Moved, Range, StridedView, apart, exist

BYTE = np.dtype(np.uint8)
REDUCTIONS = (Operation.SUM, Operation.MAXIMUM, Operation.AVERAGE)
COMBINATIONS = (Operation.ADD, Operation.MULTIPLY)
UNARY = (Operation.LEAKY_RELU,)


Views: TypeAlias = tuple[tuple[StridedView, ...], StridedView]
"""Where a box of result groups finds its operands and puts its results."""


class Elementwise(Struct, frozen=True):
    """An element-wise tensorop on regular addresses. ``order``: its loops, by how far they move the output, farthest
    first: so bytes that lie side by side are computed in one run.
    """

    op: TensorOp
    grid: GroupGrid
    order: tuple[int, ...]
    result_bytes: int
    moved: dict[str, Moved]
    scaler: Scaler | None
    places: dict[Box, Views] = field(default_factory=dict)

    def move(self, memories: TileMemories, box: Box) -> bool:
        """Compute the groups in ``box``."""
        views = self.places.get(box)
        if views is None:
            views = self.places[box] = self._place(box)
        inputs, output = views
        x, *others = (window.read(memories.narrow.blocks) for window in inputs)
        made_bytes, made = self.grid.lanes * self.op.output_type.bytes, self._outputs(x, others, memories)
        for samples, view in output.views(memories.narrow.blocks):
            view[..., :made_bytes] = made[samples]
            view[..., made_bytes:] = 0  # a word that lanes don't fill
        return True

    def _outputs(self, x: Array, others: list[Array], memories: TileMemories) -> NDArray[np.uint8]:
        op = self.op
        if op.operation is Operation.TABLE:
            return _looked_up(memories.wide.row(self.moved["parameters"].base, TABLE_BYTES), x)
        if self.scaler is not None:
            axes = tuple(range(1, 1 + len(self.grid.steps)))
            return self.scaler(np.add.reduce(x, axis=axes, dtype=np.float32)).view(np.uint8)
        steps = (x[(slice(None), *step)] for step in np.ndindex(*self.grid.step_bounds))
        return saturated(op, scaled(op, ARITHMETIC[op.operation].sums(op, steps, others)))

    def _place(self, box: Box) -> Views:
        bounds = [box[k][1] - box[k][0] for k in self.order]
        output = self.moved["output"]
        width = _output_bytes(self.op, self.grid, self.result_bytes)
        strides = [output.groups[k] for k in self.order]
        inputs = tuple(
            self._input(self.moved[name], box, bounds) for name in ("input", "input_b") if name in self.moved
        )
        return inputs, StridedView(output.first(box), (*bounds, width), (*strides, 1), BYTE)

    def _input(self, moved: Moved, box: Box, bounds: list[int]) -> StridedView:
        shape = (*self.grid.step_bounds, *bounds, self.grid.lanes)
        dtype = ELEMENT_DTYPES[self.op.input_type]
        strides = (*moved.steps, *(moved.groups[k] for k in self.order), dtype.itemsize)
        return StridedView(moved.first(box), shape, strides, dtype)


def _output_bytes(op: TensorOp, grid: GroupGrid, unit_bytes: int) -> int:
    """What a group writes, whole words, or so much of one."""
    return -(-grid.lanes * op.output_type.bytes // unit_bytes) * unit_bytes


def elementwise(op: TensorOp, operands: Operands, memories: TileMemories) -> Elementwise | None:
    """How to compute ``op`` at once on every tile with such memories, if its addresses are regular."""
    if op.output is None or op.nest.alternate or any((op.weights, op.sums_in, op.sums_out)) or not _is_regular(op):
        return None
    if operands.word_stride_bytes is not None:  # words of 16 bits may lie apart
        return None
    groups, steps = operands.group_nest.loops, operands.step_nest.loops
    names = ("input", "input_b", "parameters", "output")
    moved = {name: Moved.of(getattr(op, name), groups, steps) for name in names if getattr(op, name) is not None}
    grid = GroupGrid.of(groups, steps, operands.lane_bound, [])
    result_bytes = memories.result_bytes(op)
    width = _output_bytes(op, grid, result_bytes)
    if not exist(_spans(op, grid, moved, width), memories) or not apart(grid.row_bounds, moved["output"].groups, width):
        return None
    if "parameters" in moved and any(moved["parameters"].groups):
        return None
    order = tuple(sorted(range(len(groups)), key=lambda k: -abs(moved["output"].groups[k])))
    return Elementwise(op, grid, order, result_bytes, moved, _scaler(op, operands.steps))


def _is_regular(op: TensorOp) -> bool:
    """Whether it has the operands, and only those, that such an operation is about."""
    if op.operation in REDUCTIONS:
        return op.parameters is op.input_b is None
    if op.reduce:
        return False
    if op.operation is Operation.TABLE:
        return op.parameters is not None
    others = op.input_b is not None
    return op.parameters is None and (others if op.operation in COMBINATIONS else op.operation in UNARY and not others)


def _spans(op: TensorOp, grid: GroupGrid, moved: dict[str, Moved], width: int) -> dict[str, Range]:
    """All bytes that are addressed."""
    read = grid.lanes * op.input_type.bytes
    sizes = {"input": read, "input_b": read, "parameters": TABLE_BYTES, "output": width}
    by_step = ("input", "input_b")
    return {name: grid.span(operand, name in by_step, sizes[name]) for name, operand in moved.items()}


def _scaler(op: TensorOp, steps: int) -> Scaler | None:
    bound = magnitude(ELEMENT_DTYPES[op.input_type]) * steps
    if op.operation is not Operation.SUM or bound > FLOAT32_EXACT or op.output_type.bytes > 1:
        return None
    offset = np.array([-op.input_zero_point * steps])
    multiplier, shift = (np.array([value], np.int32) for value in op.scaling)
    return scaler(op.rule, bound, offset, multiplier, shift, op.output_zero_point, op.clamp)


def _looked_up(tables: Bytes, x: Array) -> NDArray[np.uint8]:
    """The entry of each of a sample's bytes in its own table."""
    places = np.ascontiguousarray(x).view(np.uint8)
    return np.stack([table[entries] for table, entries in zip(tables, places, strict=True)])
