"""Borders of zero points that only convolutions read: their windows reach over the edge of a map themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from tilesim.network.graph import Network, Node
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.windows import Padding

Padded: TypeAlias = Convolution | DepthwiseConvolution


def absorb_pads(network: Network) -> dict[int, Node]:
    """The nodes by number, without those that only make such borders; what reads these has more padding instead."""
    nodes = dict(enumerate(network.nodes))
    for layer, node in enumerate(network.nodes):
        pad = node.operator
        if not isinstance(pad, Pad) or node.output in network.outputs:
            continue
        readers = [k for k, other in nodes.items() if node.output in other.inputs]
        if is_spatial(pad) and _absorb(pad, [nodes[k] for k in readers]):
            del nodes[layer]
            nodes.update({k: _padded(nodes[k], node, pad) for k in readers})
    return nodes


def is_spatial(pad: Pad) -> bool:
    """Whether a border lies above, below, left and right of a map only."""
    return len(pad.before) == 4 and pad.before[3] == pad.after[3] == 0


def _absorb(pad: Pad, readers: Sequence[Node]) -> bool:
    operators = [reader.operator for reader in readers]
    return bool(operators) and all(isinstance(op, Padded) and op.input_zero_point == pad.value for op in operators)


def _padded(node: Node, border: Node, pad: Pad) -> Node:
    op = node.operator
    assert isinstance(op, Padded)
    top, left, bottom, right = op.padding
    padding = Padding(top + pad.before[1], left + pad.before[2], bottom + pad.after[1], right + pad.after[2])
    return replace(node, inputs=(*border.inputs, *node.inputs[1:]), operator=replace(op, padding=padding))
