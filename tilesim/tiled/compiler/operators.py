"""All operators that tiles run, and what passes ask of a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilesim.network.graph import Network, Node, Operator
from tilesim.network.operators import ArgMax, Convolution, Dequantise, FullyConnected, Quantise, Reshape, Softmax, TopK
from tilesim.tiled.compiler.feature_map import MapShape
from tilesim.tiled.compiler.lower import convolution, copy, elementwise, pool, transpose_convolution
from tilesim.tiled.compiler.traits import Fields, TileTraits

OPERATORS: Mapping[type[Any], TileTraits] = {
    **convolution.OPERATORS,
    **copy.OPERATORS,
    **elementwise.OPERATORS,
    **pool.OPERATORS,
    **transpose_convolution.OPERATORS,
}
ELSEWHERE = (Quantise, Dequantise, Reshape, Softmax, ArgMax, TopK)
"""What the host or the classifier does, or nobody needs to."""


def is_known(operator: Operator) -> bool:
    """Whether the machine has a place for an operator at all."""
    return type(operator) in OPERATORS or isinstance(operator, ELSEWHERE)


def traits_of(node: Node) -> TileTraits:
    return OPERATORS[type(node.operator)]


def receptive_fields(network: Network, node: Node) -> Fields:
    """What a node on the tiles reads of its input, down and across."""
    weights = network.tensors[node.inputs[1]].shape if len(node.inputs) > 1 else ()
    return traits_of(node).fields(node.operator, weights)


def gathers(network: Network, node: Node) -> bool:
    """Whether one output reads (nearly) all of the input, so that no cut of the map into neighbours serves."""
    return MapShape.of(network.tensors[node.output].shape).pixels == 1


def spreads(network: Network, node: Node) -> bool:
    """Whether a node is spread by its outputs: fully connected layers, and convolutions that are one in effect."""
    op = node.operator
    if isinstance(op, FullyConnected):
        return True
    shapes = [MapShape.of(network.tensors[index].shape) for index in (node.inputs[0], node.output)]
    kernel = network.tensors[node.inputs[1]].shape[1:3] if isinstance(op, Convolution) and op.groups == 1 else ()
    return kernel == (1, 1) and all(shape.pixels == 1 for shape in shapes)
