"""A network sorted by place: what the chip runs, and what the host does at its ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tilesim.lowering.pads import absorb_pads
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.quantise import Quantise
from tilesim.network.operators.reshape import Reshape


@dataclass(frozen=True)
class NetworkInput:
    """The tensor that the model names, the one that the chip gets, and the host's step between, if any."""

    model: Tensor
    stored: Tensor
    quantise: Quantise | None


@dataclass(frozen=True)
class NetworkOutput:
    """The tensor that the model names, the one that leaves the chip, and the host's last step between, if any."""

    model: Tensor
    stored: Tensor
    dequantise: Dequantise | None = None


Output = TypeVar("Output", bound=NetworkOutput)


@dataclass(frozen=True)
class OperatorPlan(Generic[Output]):
    """``nodes`` are those that the chip runs, by their numbers; ``root`` maps a tensor to the one whose bytes it
    shares.
    """

    network: Network
    nodes: Mapping[int, Node] = field(repr=False)
    root: Mapping[int, int]
    sources: Sequence[NetworkInput]
    sinks: Sequence[Output]

    def stored(self, tensor: int) -> Tensor:
        """The tensor that holds the bytes of ``tensor``."""
        return stored(self.network, self.root, tensor)


def stored(network: Network, root: Mapping[int, int], tensor: int) -> Tensor:
    """The tensor that holds the bytes of ``tensor``."""
    while tensor in root:
        tensor = root[tensor]
    return network.tensors[tensor]


def network_inputs(network: Network) -> tuple[list[NetworkInput], set[int]]:
    """The inputs, and the layers that the host runs for them."""
    quantised = {
        node.inputs[0]: layer
        for layer, node in reversed(list(enumerate(network.nodes)))
        if isinstance(node.operator, Quantise) and node.inputs[0] in network.inputs
    }
    return [_network_input(network, index, quantised.get(index)) for index in network.inputs], set(quantised.values())


def _network_input(network: Network, index: int, layer: int | None) -> NetworkInput:
    model = network.tensors[index]
    if layer is None:
        return NetworkInput(model, model, None)
    node = network.nodes[layer]
    assert isinstance(node.operator, Quantise)
    return NetworkInput(model, network.tensors[node.output], node.operator)


def nodes_and_root(network: Network, elsewhere: set[int]) -> tuple[dict[int, Node], dict[int, int]]:
    """The nodes of a plan without the layers that run ``elsewhere``, and its root."""
    absorbed = absorb_pads(network).items()
    root = {node.output: node.inputs[0] for _, node in absorbed if isinstance(node.operator, Reshape)}
    return {layer: node for layer, node in absorbed if node.output not in root and layer not in elsewhere}, root
