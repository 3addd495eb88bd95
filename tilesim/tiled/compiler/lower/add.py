"""Element-wise addition and multiplication of two maps."""

from __future__ import annotations

from tilesim.network.graph import Network, Node
from tilesim.network.operators.add import Add
from tilesim.network.operators.multiply import Multiply
from tilesim.tiled.compiler.nest import Level, NestWriter
from tilesim.tiled.compiler.task import TileTask
from tilesim.tiled.compiler.traits import Traits, no_constants
from tilesim.tiled.isa.model.instructions import Operation, TensorOp


def lower_add(task: TileTask, op: Add) -> list[TensorOp]:
    return [_pairs(task, op, Operation.ADD)]


def lower_multiply(task: TileTask, op: Multiply) -> list[TensorOp]:
    return [_pairs(task, op, Operation.MULTIPLY)]


def _pairs(task: TileTask, op: Add | Multiply, operation: Operation) -> TensorOp:
    """Loops: row, word."""
    a, b, target, vector, step = *task.inputs, task.output, task.topology.tile.vector_bytes, task.step
    first, left = task.first_row, task.output.columns.start
    nest = NestWriter(
        [
            Level(
                "y",
                len(target.block_rows),
                {"a": step * a.row_bytes, "b": step * b.row_bytes, "output": step * target.row_bytes},
            ),
            Level(
                "w",
                len(target.block_columns) * target.pixel_bytes // vector,
                {"a": vector, "b": vector, "output": vector},
            ),
            Level("lane", vector, {}),
        ]
    )
    return TensorOp(
        tiles=0,
        operation=operation,
        nest=nest.nest,
        reduce=nest.reduce,
        input=nest.reference("a", a.at(first, left)),
        input_b=nest.reference("b", b.at(first, left)),
        output=nest.reference("output", target.at(first, left)),
        input_type=task.input_type,
        output_type=task.output_type,
        rule=op.rule,
        scaling=op.scaling,
        clamp=op.clamp,
        produce=task.raises(nest),
        layer=task.layer,
    )


def _faults(network: Network, node: Node, word_bytes: int) -> list[str]:
    shapes = {network.tensors[index].shape for index in node.inputs}
    if len(shapes) == 1:
        return no_constants(network, node, word_bytes)
    return [f"must {node.kind} tensors of one shape, not {' and '.join(map(str, sorted(shapes)))}"]


OPERATORS = {
    Add: Traits(lower_add, faults=_faults, channel_wise=True, row_by_row=True),
    Multiply: Traits(lower_multiply, faults=_faults, channel_wise=True, row_by_row=True),
}
