"""Layers that only move bytes: borders that a convolution can take over, and what of them a tile can't do."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from tilesim.network.graph import Network, Node
from tilesim.network.operators.concatenation import Concatenation
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.padding import Padding
from tilesim.network.operators.slice import Slice

Weighted: TypeAlias = Convolution | DepthwiseConvolution


def folded_pads(network: Network) -> dict[int, list[Node]]:
    """The layers that borders vanish into, and the borders: what each layer becomes, no node or one.

    A border of zero points that only convolutions read is padding of theirs.
    """
    found: dict[int, list[Node]] = {}
    for layer, pad in enumerate(network.nodes):
        border = pad.operator
        if not isinstance(border, Pad) or pad.output in network.outputs:
            continue
        readers = [(k, node) for k, node in enumerate(network.nodes) if pad.output in node.inputs]
        if readers and all(_absorbs(node, border) for _, node in readers):
            found[layer] = []
            found.update({k: [_absorbed(node, pad, border)] for k, node in readers})
    return found


def _absorbs(node: Node, pad: Pad) -> bool:
    op = node.operator
    return isinstance(op, Weighted) and spatial(pad) and pad.value == op.input_zero_point


def spatial(pad: Pad) -> bool:
    """Whether a border lies above, below, left and right of a map only."""
    return len(pad.before) == 4 and pad.before[3] == pad.after[3] == 0


def _absorbed(node: Node, pad: Node, border: Pad) -> Node:
    op = node.operator
    assert isinstance(op, Weighted)
    sides = (border.before[1], border.before[2], border.after[1], border.after[2])
    padding = Padding(*(old + new for old, new in zip(op.padding, sides, strict=True)))
    return replace(node, inputs=(*pad.inputs, *node.inputs[1:]), operator=replace(op, padding=padding))


def move_faults(network: Network, node: Node, word_bytes: int) -> list[str]:
    """Why a layer that moves bytes cannot run on the tiles: they move whole words, and fill with zero points."""
    op, source = node.operator, network.tensors[node.inputs[0]]
    if isinstance(op, Pad) and not spatial(op):
        return ["must pad the rows and columns of a map, not its channels"]
    if isinstance(op, Pad) and (known := source.quantisation) is not None and op.value != known.zero_point:
        return [f"must pad with its input's zero point {known.zero_point}, not with {op.value}"]
    if isinstance(op, Slice) and op.begin[-1] % word_bytes:
        return [f"must begin at a multiple of {word_bytes} channels, not at channel {op.begin[-1]}"]
    if not isinstance(op, Concatenation):
        return []
    if op.axis != len(source.shape) - 1:
        return [f"must put tensors together along their channels, not along axis {op.axis}"]
    channels = [network.tensors[i].shape[-1] for i in node.inputs[:-1]]
    odd = [count for count in channels if count % word_bytes]
    return [f"must have multiples of {word_bytes} channels in all inputs but the last, not {odd[0]}"] if odd else []
