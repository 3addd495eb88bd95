"""What makes each element of those in its place: of one map, or of two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilesim.network.graph import Network, Node
from tilesim.network.operators import Add, Multiply, Rescale, Subtract, Table
from tilesim.rotating.compiler.call import Call, Line, Part, Pass, Placed, Traits
from tilesim.rotating.compiler.emitter import Writer
from tilesim.rotating.compiler.lower.parameters import one_for_all, scaling_of
from tilesim.rotating.compiler.pairing import Pairing, aligned, pairing, swapped_scaling
from tilesim.rotating.compiler.task import map_shape
from tilesim.rotating.compiler.weights import table_rows
from tilesim.rotating.isa.model.instructions import Alu, Function
from tilesim.rotating.topology import Topology


def no_parts(_call: Call) -> list[Part]:
    return []


def lone_parts(call: Call) -> list[Part]:
    """The factor of a rescaling, or a table."""
    op, none = call.task.node.operator, np.zeros((0, call.topology.row_bytes), np.uint8)
    if isinstance(op, Table):
        return [Part(none, table_rows(op.entries, call.topology))]
    return [Part(none, one_for_all(call, scaling_of(call.task)))]


def lower_alone(call: Call, writer: Writer) -> None:
    op = call.task.node.operator
    table = isinstance(op, Table)
    if isinstance(op, Rescale):
        scaling = scaling_of(call.task)
        call.registers(
            writer, data_zero=op.input_zero_point, rule=scaling.rule, zero_point=op.output_zero_point, clamp=op.clamp
        )
    else:
        call.registers(writer)
    out: dict[str, Any] = {"function": Function.LOOKUP} if table else {"function": Function.REQUANTISE}
    out["set"] = call.fetch(writer, 0, table)
    for own in call.passes:
        call.mask(writer, own)
        for _, line in call.lines(writer, call.task.window.spans):
            _load(call, writer, call.sources[0], own, line, Alu.COPY if table else Alu.ADD)
            call.out(writer, own, line, **out)


def lower_pair(call: Call, writer: Writer) -> None:
    op = call.task.node.operator
    assert isinstance(op, Add | Multiply)
    first, second = aligned(call.task, [layout.stripes[0] for layout in call.inputs])
    way = pairing(op, (first, second), call.topology)
    scaling = swapped_scaling(op) if way.swapped else op.scaling
    combine = "add" if isinstance(op, Add) else "multiply"
    call.registers(writer, rule=op.rule, clamp=op.clamp, combine=combine, scaling=scaling)
    for own in call.passes:
        call.mask(writer, own)
        for _, line in call.lines(writer, call.task.window.spans):
            _pair(call, writer, way, own, line)


def _pair(call: Call, writer: Writer, way: Pairing, own: Pass, line: Line) -> None:
    added, other = (call.sources[1], call.sources[0]) if way.swapped else (call.sources[0], call.sources[1])
    if way.words and call.sources[way.turned] is not added:
        _load(call, writer, added, own, line, Alu.COPY)
        _load(call, writer, other, own, line, Alu.NONE)
        writer.rotate(call.topology.rotation.route(way.words))
        call.out(writer, own, line, function=Function.COMBINE)
        return
    _load(call, writer, added, own, line, Alu.NONE if way.words else Alu.COPY)
    if way.words:
        writer.turned(way.words, Alu.COPY)
    spot = call.spot(other, own, line, line.first, own.row)
    call.wait(writer, spot)
    call.out(writer, own, line, function=Function.COMBINE, data=spot.data)


def _load(call: Call, writer: Writer, placed: Placed, own: Pass, line: Line, alu: Alu) -> None:
    spot = call.spot(placed, own, line, line.first, own.row)
    call.wait(writer, spot)
    writer.step(data=spot.data, alu=alu)


def pair_faults(network: Network, node: Node, _topology: Topology) -> Iterator[str]:
    tensors = [network.tensors[index] for index in node.inputs]
    shapes = [map_shape(tensor.shape) for tensor in tensors if tensor.data is None]
    made = map_shape(network.tensors[node.output].shape)
    if not shapes:
        yield "must read a tensor that is computed"
    fixed = {index for index in node.inputs if network.tensors[index].data is not None}
    if any(fixed & set(other.inputs) for other in network.nodes if other is not node):
        yield "must have a constant of its own, which no other node reads"
    if unlike := [shape for shape in shapes if shape not in (made, (1, 1, made[2]))]:
        yield f"must read computed maps of the {made} that it makes, or pixels as deep, not maps of {unlike[0]}"
    constants = (tensor for tensor in tensors if tensor.data is not None)
    if others := [tensor for tensor in constants if map_shape(tensor.shape) not in (made, (1, 1, made[2]))]:
        yield f"must read constants of the {made} that it makes, not {others[0].title} of {others[0].shape}"


def table_faults(network: Network, node: Node, _topology: Topology) -> Iterator[str]:
    output, first = network.tensors[node.output], network.tensors[node.inputs[0]]
    if output.dtype.itemsize + first.dtype.itemsize > 2:
        yield "must work on bytes, not on int16"


OPERATORS = {
    Add: Traits(no_parts, lower_pair, pair_faults),
    Multiply: Traits(no_parts, lower_pair, pair_faults),
    Rescale: Traits(lone_parts, lower_alone),
    Subtract: Traits(no_parts, lower_pair, pair_faults),
    Table: Traits(lone_parts, lower_alone, table_faults),
}
