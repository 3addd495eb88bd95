"""A function of one byte, looked up word by word."""

from __future__ import annotations

from dataclasses import replace

from tilesim.network.operators.table import Table
from tilesim.tiled.compiler.nest import Level, NestWriter
from tilesim.tiled.compiler.task import TileTask
from tilesim.tiled.compiler.traits import TileTraits
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
    lookup = task.tensorop(Operation.TABLE, nest, source.at(first, left), target.at(first, left))
    table = nest.reference("parameters", task.keep("parameters", lambda: op.entries))
    return [replace(lookup, parameters=table, clamp=RANGES[task.output_type])]


OPERATORS = {Table: TileTraits(lower_table, channel_wise=True, one_table=True)}
