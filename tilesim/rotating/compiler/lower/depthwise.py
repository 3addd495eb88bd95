"""Depthwise convolutions: each unit works on the channel of its own block, so nothing goes round."""

from __future__ import annotations

from tilesim.network.operators import DepthwiseConvolution
from tilesim.rotating.compiler.call import Call, Part, Traits
from tilesim.rotating.compiler.emitter import Writer
from tilesim.rotating.compiler.lower.convolution import weighted_faults
from tilesim.rotating.compiler.lower.lines import FilterRow, LinePass, Piece, whole_pass
from tilesim.rotating.compiler.lower.parameters import channel_parameters, scaling_of
from tilesim.rotating.compiler.weights import own as own_weights
from tilesim.rotating.compiler.weights import weight_rows
from tilesim.rotating.isa.model.instructions import Alu


def depthwise_parts(call: Call) -> list[Part]:
    op, weights = call.task.node.operator, call.task.constants[0]
    assert isinstance(op, DepthwiseConvolution)
    parts = []
    for own in call.passes:
        words = own_weights(weights, own.made, call.units, call.stride, op.weight_zero_point, call.up)
        parts.append(Part(weight_rows(words, call.topology), channel_parameters(call, own)))
    return parts


def lower_depthwise(call: Call, writer: Writer) -> None:
    op, window = call.task.node.operator, call.task.window
    assert isinstance(op, DepthwiseConvolution)
    call.registers(
        writer,
        weights=call.words(call.task.constants[0].dtype),
        data_zero=op.input_zero_point,
        weight_zero=op.weight_zero_point,
        rule=scaling_of(call.task).rule,
        zero_point=op.output_zero_point,
        clamp=op.clamp,
    )
    units = call.topology.units.count
    row = FilterRow(window.kernel[1], window.dilations[1], 1, call.units.block, units, Alu.MULTIPLY_ADD)
    for number, own in enumerate(call.passes):
        group = call.group(own)
        call.mask(writer, own)
        chosen = call.fetch(writer, number)
        piece = Piece(range(group, group + 1), range(window.kernel[0]), call.places[number].row)
        whole_pass(LinePass(call, own, row, [piece]), writer, window.spans, chosen)


OPERATORS = {DepthwiseConvolution: Traits(depthwise_parts, lower_depthwise, weighted_faults, on_map=True)}
