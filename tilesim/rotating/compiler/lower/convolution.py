"""Convolutions and fully connected layers: rows of words go round past units that wait for their channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.graph import Network, Node
from tilesim.network.operators import Convolution, FullyConnected
from tilesim.rotating.compiler.call import Call, Part, Traits
from tilesim.rotating.compiler.channels import steps_of
from tilesim.rotating.compiler.emitter import Writer
from tilesim.rotating.compiler.lower.chunks import PartialPass, chunks, pieces
from tilesim.rotating.compiler.lower.lines import FilterRow, LinePass, whole_pass
from tilesim.rotating.compiler.lower.parameters import channel_parameters, scaling_of
from tilesim.rotating.compiler.weights import skewed, weight_rows
from tilesim.rotating.isa.model.instructions import Alu
from tilesim.rotating.topology import Topology

Mixing = Convolution | FullyConnected


def block_steps(call: Call) -> int:
    """Steps from block to block until all units have met all channels, of whichever row and pass they take most."""
    used = {tuple(channel >= 0 for channel in own.made) for own in call.passes}
    read = call.inputs[0].stripes[0].channels
    return max(steps_of(channels, units, call.up) for channels in read for units in used)


def kernels(call: Call) -> NDArray[Any]:
    """The weights, (outputs, rows, columns, inputs): a fully connected layer's window is its whole map; a grouped
    convolution has weights that are zero points.
    """
    op, weights = call.task.node.operator, call.task.constants[0]
    if isinstance(op, FullyConnected):
        return weights.reshape(len(weights), *call.task.maps[0])
    assert isinstance(op, Convolution)
    if op.groups == 1:
        return weights
    dense = np.full((*weights.shape[:3], weights.shape[3] * op.groups), op.weight_zero_point, weights.dtype)
    each, inputs = len(weights) // op.groups, weights.shape[3]
    for group in range(op.groups):
        own = slice(group * each, (group + 1) * each)
        dense[own, ..., group * inputs : (group + 1) * inputs] = weights[own]
    return dense


def convolution_parts(call: Call) -> list[Part]:
    """One for each pass, or for each chunk of one."""
    op, weights, read = call.task.node.operator, kernels(call), call.inputs[0].stripes[0].channels
    assert isinstance(op, Mixing)
    row = filter_row(call)
    unit, cut = row.steps * row.columns, chunks(call, row)
    parts = []
    for own in call.passes:
        words = skewed(weights, own.made, read, row.steps, call.units, op.weight_zero_point, call.stride, call.up)
        rows, parameters = weight_rows(words, call.topology), channel_parameters(call, own)
        for chunk in cut:
            own_rows = rows[chunk.start * unit : chunk.stop * unit]
            share = parameters if chunk is cut[-1] else parameters[:0]
            parts.append(Part(own_rows, share, call.task.window.visits * len(chunk) * row.clocks(call.topology)))
    return parts


def filter_row(call: Call) -> FilterRow:
    window, units = call.task.window, call.topology.units.count
    return FilterRow(
        window.kernel[1], window.dilations[1], block_steps(call), call.units.block, units, Alu.MULTIPLY_ADD
    )


def lower_convolution(call: Call, writer: Writer) -> None:
    op = call.task.node.operator
    assert isinstance(op, Mixing)
    call.registers(
        writer,
        weights=call.words(call.task.constants[0].dtype),
        data_zero=op.input_zero_point,
        weight_zero=op.weight_zero_point,
        rule=scaling_of(call.task).rule,
        zero_point=op.output_zero_point,
        clamp=op.clamp,
    )
    row = filter_row(call)
    cut = chunks(call, row)
    for number, own in enumerate(call.passes):
        call.mask(writer, own)
        places = range(number * len(cut), (number + 1) * len(cut))
        lines = [
            LinePass(call, own, row, pieces(call, row, chunk, place)) for chunk, place in zip(cut, places, strict=True)
        ]
        if len(lines) == 1:
            whole_pass(lines[0], writer, call.task.window.spans, call.fetch(writer, number))
        else:
            PartialPass(lines, places).write(writer)


def weighted_faults(network: Network, node: Node, topology: Topology) -> Iterator[str]:
    """Weights that are none, or that words have no room for."""
    tensors = [network.tensors[index] for index in node.inputs[1:]]
    if unknown := [tensor.title for tensor in tensors if tensor.data is None]:
        yield f"must have constant weights, not {unknown[0]}"
    elif tensors[0].dtype.name not in ("int8", "uint8", "int16")[: topology.word_bytes + 1]:
        yield f"must have weights that {topology.units.word_bits} bits hold, not {tensors[0].dtype}"


OPERATORS = {
    Convolution: Traits(convolution_parts, lower_convolution, weighted_faults, on_map=True),
    FullyConnected: Traits(convolution_parts, lower_convolution, weighted_faults),
}
