"""A network sorted by place: what the chip runs, and what the host does at its ends; what needs no place at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from tilesim.network.graph import Network, Node, Operator, Tensor
from tilesim.network.operators import Convolution, DepthwiseConvolution, Dequantise, Pad, Padding, Quantise, Reshape

Padded: TypeAlias = Convolution | DepthwiseConvolution


class NetworkInput(Struct, frozen=True):
    """The tensor that the model names, the one that the chip gets, and the host's step between, if any."""

    model: Tensor
    stored: Tensor
    quantise: Quantise | None


class NetworkOutput(Struct, frozen=True):
    """The tensor that the model names, the one that leaves the chip, and the host's last step between, if any."""

    model: Tensor
    stored: Tensor
    dequantise: Dequantise | None = None


def host_fields(end: NetworkInput | NetworkOutput) -> dict[str, Any]:
    """What the host has to know of an input or an output, as the host tensors of all machines call it."""
    step = end.quantise if isinstance(end, NetworkInput) else end.dequantise
    return {
        "name": end.model.name,
        "index": end.model.index,
        "dtype": str(end.model.dtype),
        "shape": end.model.model_shape,
        "axes": axes_of(end.model),
        "scale": step.scale if step else 0.0,
        "zero_point": step.zero_point if step else 0,
        "rounding": step.rounding if isinstance(step, Quantise) else "even",
    }


def axes_of(tensor: Tensor) -> tuple[int, ...]:
    """The canonical axis of each axis of the model."""
    return tensor.model_axes or tuple(range(len(tensor.shape)))


Output = TypeVar("Output", bound=NetworkOutput)


class OperatorPlan(Struct, Generic[Output], frozen=True):
    """``nodes`` are those that the chip runs, by their numbers; ``root`` maps a tensor to the one whose bytes it
    shares.
    """

    network: Network
    nodes: Mapping[int, Node]
    root: Mapping[int, int]
    sources: Sequence[NetworkInput]
    sinks: Sequence[Output]

    def stored(self, tensor: int) -> Tensor:
        """The tensor that holds the bytes of ``tensor``."""
        while tensor in self.root:
            tensor = self.root[tensor]
        return self.network.tensors[tensor]


def network_inputs(network: Network) -> tuple[list[NetworkInput], set[int]]:
    """The inputs, and the layers that the host runs for them."""
    quantised = {
        node.inputs[0]: (layer, node.output, node.operator)
        for layer, node in reversed(list(enumerate(network.nodes)))
        if isinstance(node.operator, Quantise) and node.inputs[0] in network.inputs
    }
    inputs = []
    for index in network.inputs:
        _, stored, step = quantised.get(index, (-1, index, None))
        inputs.append(NetworkInput(network.tensors[index], network.tensors[stored], step))
    return inputs, {layer for layer, _, _ in quantised.values()}


def nodes_and_root(network: Network, elsewhere: set[int]) -> tuple[dict[int, Node], dict[int, int]]:
    """The nodes of a plan without the layers that run ``elsewhere``, and its root."""
    absorbed = absorb_pads(network).items()
    root = {node.output: node.inputs[0] for _, node in absorbed if isinstance(node.operator, Reshape)}
    return {layer: node for layer, node in absorbed if node.output not in root and layer not in elsewhere}, root


def absorb_pads(network: Network) -> dict[int, Node]:
    """The nodes by number, without those that make borders of zero points which only convolutions read: these have more
    padding instead, as their windows reach over the edge of a map themselves.
    """
    nodes = dict(enumerate(network.nodes))
    for layer, node in enumerate(network.nodes):
        pad = node.operator
        if not isinstance(pad, Pad) or node.output in network.outputs:
            continue
        readers = {k: other for k, other in nodes.items() if node.output in other.inputs}
        if readers and is_spatial(pad) and all(_absorbs(reader.operator, pad) for reader in readers.values()):
            del nodes[layer]
            nodes.update({k: _padded(reader, node, pad) for k, reader in readers.items()})
    return nodes


def is_spatial(pad: Pad) -> bool:
    """Whether a border lies above, below, left and right of a map only."""
    return len(pad.before) == 4 and pad.before[3] == pad.after[3] == 0


def _absorbs(op: Operator, pad: Pad) -> bool:
    return isinstance(op, Padded) and op.input_zero_point == pad.value


def _padded(node: Node, border: Node, pad: Pad) -> Node:
    op = node.operator
    assert isinstance(op, Padded)
    top, left, bottom, right = op.padding
    padding = Padding(top + pad.before[1], left + pad.before[2], bottom + pad.after[1], right + pad.after[2])
    return replace(node, inputs=(*border.inputs, *node.inputs[1:]), operator=replace(op, padding=padding))
