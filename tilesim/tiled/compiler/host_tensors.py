"""What the host's driver has to know of a network's inputs and outputs."""

from __future__ import annotations

from typing import Any

from tilesim.arithmetic.classify import classify_scaling
from tilesim.lowering.operator_plan import NetworkInput, host_fields
from tilesim.network.operators.softmax import Softmax
from tilesim.tiled.compiler.feature_map import MapShape
from tilesim.tiled.compiler.task import element_type
from tilesim.tiled.compiler.tile_plan import TileOutput
from tilesim.tiled.isa.model.program import Block, HostTensor


def host_input(source: NetworkInput, map_shape: MapShape, blocks: tuple[Block, ...]) -> HostTensor:
    stored = source.stored.quantisation
    return _host_tensor(source, map_shape, blocks, pad=stored.zero_point if stored else 0)


def host_output(sink: TileOutput, map_shape: MapShape, blocks: tuple[Block, ...]) -> HostTensor:
    function = sink.at_host
    return _host_tensor(
        sink,
        map_shape,
        blocks,
        lookup=sink.lookup,
        function=SOFTMAX_FUNCTIONS[function.rule] if function else "",
        scaling=softmax_scaling(function) if function else (),
    )


SOFTMAX_FUNCTIONS = {"plain": "softmax", "aligned": "softmax_aligned", "fixed": "softmax_fixed"}


def softmax_scaling(softmax: Softmax) -> tuple[int, ...]:
    """What the classifier or the host needs to know of a softmax."""
    scales = softmax.input_scale, softmax.output_scale
    return classify_scaling(SOFTMAX_FUNCTIONS[softmax.rule], scales, softmax.output_zero_point, softmax.clamp)


def reply(shape: MapShape, row_bytes: int) -> tuple[Block, ...]:
    """What comes from the classifier: one vector from its first row on."""
    return (Block((0, 0, 0), (1, 1, shape.channels), shape.channels, -(-shape.channels // row_bytes)),)


def _host_tensor(
    end: NetworkInput | TileOutput, map_shape: MapShape, blocks: tuple[Block, ...], **conversion: Any
) -> HostTensor:
    return HostTensor(
        **host_fields(end),
        element=str(element_type(end.stored.dtype)),
        extent=(map_shape.height, map_shape.width, map_shape.channels),
        blocks=blocks,
        **conversion,
    )
