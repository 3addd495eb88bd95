"""Element-wise addition and multiplication of two maps."""

from __future__ import annotations

from dataclasses import replace

from tilesim.network.graph import Network, Node
from tilesim.network.operators.add import Add
from tilesim.network.operators.multiply import Multiply
from tilesim.tiled.compiler.nest import Level, NestWriter
from tilesim.tiled.compiler.task import TileTask
from tilesim.tiled.compiler.traits import TileTraits, no_constants
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
                {"input": step * a.row_bytes, "b": step * b.row_bytes, "output": step * target.row_bytes},
            ),
            Level(
                "w",
                len(target.block_columns) * target.pixel_bytes // vector,
                {"input": vector, "b": vector, "output": vector},
            ),
            Level("lane", vector, {}),
        ]
    )
    return replace(
        task.tensorop(operation, nest, a.at(first, left), target.at(first, left)),
        input_b=nest.reference("b", b.at(first, left)),
        rule=op.rule,
        scaling=op.scaling,
        clamp=op.clamp,
        produce=task.raises(nest),
    )


def _faults(network: Network, node: Node, word_bytes: int) -> list[str]:
    shapes = {network.tensors[index].shape for index in node.inputs}
    if len(shapes) == 1:
        return no_constants(network, node, word_bytes)
    return [f"must {node.kind} tensors of one shape, not {' and '.join(map(str, sorted(shapes)))}"]


OPERATORS = {
    Add: TileTraits(lower_add, faults=_faults, channel_wise=True, row_by_row=True),
    Multiply: TileTraits(lower_multiply, faults=_faults, channel_wise=True, row_by_row=True),
}
