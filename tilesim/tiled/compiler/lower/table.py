"""A function of one byte, looked up word by word."""

from __future__ import annotations

from tilesim.network.operators.table import Table
from tilesim.tiled.compiler.nest import Level, NestWriter
from tilesim.tiled.compiler.task import TileTask
from tilesim.tiled.compiler.traits import Traits
from tilesim.tiled.isa.checks.values import RANGES
from tilesim.tiled.isa.model.instructions import Operation, TensorOp


def lower_table(task: TileTask, op: Table) -> list[TensorOp]:
    """Loops: row, word. The table goes where parameters go."""
    source, target, vector = task.inputs[0], task.output, task.topology.tile.vector_bytes
    first, left = target.rows.start, target.columns.start
    words = len(target.columns) * target.pixel_bytes // vector
    nest = NestWriter(
        [
            Level("y", len(target.rows), {"input": source.row_bytes, "output": target.row_bytes}),
            Level("w", words, {"input": vector, "output": vector}),
            Level("lane", vector, {}),
        ]
    )
    return [
        TensorOp(
            tiles=0,
            operation=Operation.TABLE,
            nest=nest.nest,
            input=nest.reference("input", source.at(first, left)),
            parameters=nest.reference("parameters", task.keep("parameters", lambda: op.entries)),
            output=nest.reference("output", target.at(first, left)),
            input_type=task.input_type,
            output_type=task.output_type,
            clamp=RANGES[task.output_type],
            produce=nest.outermost,
            layer=task.layer,
        )
    ]


OPERATORS = {Table: Traits(lower_table, channel_wise=True, one_table=True)}
