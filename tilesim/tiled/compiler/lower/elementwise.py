"""Element-wise layers: two maps added or multiplied, a function of one byte, looked up, a leaky ReLU; word by word."""

from __future__ import annotations

from dataclasses import replace

from tilesim.network.graph import Network, Node
from tilesim.network.operators.add import Add
from tilesim.network.operators.leaky_relu import LeakyRelu
from tilesim.network.operators.multiply import Multiply
from tilesim.network.operators.subtract import Subtract
from tilesim.network.operators.table import Table
from tilesim.tiled.compiler.feature_map import MapPart
from tilesim.tiled.compiler.task import Level, NestWriter, TileTask
from tilesim.tiled.compiler.traits import TileTraits, no_constants
from tilesim.tiled.isa.checks.values import RANGES
from tilesim.tiled.isa.model.accesses import TABLE_BYTES
from tilesim.tiled.isa.model.instructions import Operation, TensorOp


def lower_pairs(task: TileTask, op: Add | Multiply) -> list[TensorOp]:
    operation = Operation.ADD if isinstance(op, Add) else Operation.MULTIPLY
    a, b, target = *task.inputs, task.output
    first, left = task.first_row, target.columns.start
    nest = _words(task, target.block_rows, target.block_columns, {"input": a, "b": b, "output": target})
    pairs = task.tensorop(operation, nest, a.at(first, left), target.at(first, left))
    pairs = replace(pairs, input_b=nest.reference("b", b.at(first, left)), produce=task.raises(nest))
    return [replace(pairs, widths=pairs.operand_bits, rule=op.rule, scaling=op.scaling, clamp=op.clamp)]


def lower_table(task: TileTask, op: Table) -> list[TensorOp]:
    """The table goes where parameters go."""
    source, target = task.inputs[0], task.output
    first, left = target.rows.start, target.columns.start
    nest = _words(task, target.rows, target.columns, {"input": source, "output": target})
    lookup = task.tensorop(Operation.TABLE, nest, source.at(first, left), target.at(first, left))
    place = task.keep("parameters", lambda: op.entries, min(TABLE_BYTES, task.row_bytes))
    table = nest.reference("parameters", place)
    return [replace(lookup, parameters=table, clamp=RANGES[task.output_type])]


def lower_leaky_relu(task: TileTask, op: LeakyRelu) -> list[TensorOp]:
    """What is too wide for a table."""
    source, target = task.inputs[0], task.output
    first, left = target.rows.start, target.columns.start
    nest = _words(task, target.rows, target.columns, {"input": source, "output": target})
    bent = task.tensorop(Operation.LEAKY_RELU, nest, source.at(first, left), target.at(first, left))
    bent = replace(bent, input_zero_point=op.input_zero_point, output_zero_point=op.output_zero_point)
    return [replace(bent, rule=op.rule, scaling=(*op.above, *op.below), clamp=RANGES[task.output_type])]


def _words(task: TileTask, rows: range, columns: range, maps: dict[str, MapPart]) -> NestWriter:
    """Loops: row, word."""
    lanes = task.topology.tile.vector_bytes
    return NestWriter(
        [
            Level("y", len(rows), {name: task.step * part.row_bytes for name, part in maps.items()}),
            Level(
                "w",
                len(columns) * task.output.pixel_bytes // task.vector[1],
                {name: lanes * part.element_bytes for name, part in maps.items()},
            ),
            Level("lane", lanes, {}),
        ]
    )


def _faults(network: Network, node: Node, word_bytes: int) -> list[str]:
    shapes = {network.tensors[index].shape for index in node.inputs}
    if len(shapes) == 1:
        return no_constants(network, node, word_bytes)
    return [f"must {node.kind} tensors of one shape, not {' and '.join(map(str, sorted(shapes)))}"]


OPERATORS = {
    Add: TileTraits(lower_pairs, faults=_faults, channel_wise=True, row_by_row=True),
    Multiply: TileTraits(lower_pairs, faults=_faults, channel_wise=True, row_by_row=True),
    Subtract: TileTraits(lower_pairs, faults=_faults, channel_wise=True, row_by_row=True),
    LeakyRelu: TileTraits(lower_leaky_relu, channel_wise=True),
    Table: TileTraits(lower_table, channel_wise=True, one_table=True),
}
