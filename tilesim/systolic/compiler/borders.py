"""Borders of zero points that only convolutions read: their windows may reach over the edge of a map themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilesim.network.graph import Network, Node
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.padding import Padding


def without_borders(network: Network) -> dict[int, Node]:
    """The nodes by number, without those that only make such borders; what reads these has more padding instead."""
    nodes = dict(enumerate(network.nodes))
    for layer, node in enumerate(network.nodes):
        readers = [k for k, other in nodes.items() if node.output in other.inputs]
        if _needless(node, [nodes[k] for k in readers]) and node.output not in network.outputs:
            del nodes[layer]
            nodes.update({k: _reaching_over(nodes[k], node) for k in readers})
    return nodes


def _needless(node: Node, readers: Sequence[Node]) -> bool:
    pad = node.operator
    if not isinstance(pad, Pad) or len(pad.before) != 4 or pad.before[3] or pad.after[3]:
        return False
    ops = [reader.operator for reader in readers]
    weighted = [op for op in ops if isinstance(op, Convolution | DepthwiseConvolution)]
    return bool(ops) and len(weighted) == len(ops) and all(op.input_zero_point == pad.value for op in weighted)


def _reaching_over(node: Node, border: Node) -> Node:
    op, pad = node.operator, border.operator
    assert isinstance(op, Convolution | DepthwiseConvolution)
    assert isinstance(pad, Pad)
    top, left, bottom, right = op.padding
    padding = Padding(top + pad.before[1], left + pad.before[2], bottom + pad.after[1], right + pad.after[2])
    return replace(node, inputs=(*border.inputs, *node.inputs[1:]), operator=replace(op, padding=padding))
