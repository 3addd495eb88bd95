"""Element-wise addition."""

from __future__ import annotations

from tilesim.network.operators.add import Add
from tilesim.tiled.compiler.nest import Line, NestWriter
from tilesim.tiled.compiler.task import Task
from tilesim.tiled.isa.instructions import Operation, TensorOp


def lower_add(task: Task, op: Add) -> list[TensorOp]:
    """Loops: row, word."""
    a, b, target, vector = *task.inputs, task.output, task.topology.tile.vector_bytes
    nest = NestWriter(
        [
            Line("y", target.shape.height, {"a": a.row_bytes, "b": b.row_bytes, "output": target.row_bytes}),
            Line("w", target.shape.width * target.pixel_bytes // vector, {"a": vector, "b": vector, "output": vector}),
            Line("lane", vector, {}),
        ]
    )
    return [
        TensorOp(
            tiles=task.tiles,
            operation=Operation.ADD,
            nest=nest.nest,
            reduce=nest.reduce,
            input=nest.reference("a", a.at(0, 0)),
            input_b=nest.reference("b", b.at(0, 0)),
            output=nest.reference("output", target.at(0, 0)),
            input_type=task.input_type,
            output_type=task.output_type,
            rule=op.rule,
            scaling=op.scaling,
            clamp=op.clamp,
            produce=nest.outermost,
            layer=task.layer,
        )
    ]
