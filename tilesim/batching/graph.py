"""A network as batching sees it: which node waits for which, what a weight is used for, and bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilesim.network.graph import Network, Node, Tensor, macs

INPUT = -1
"""Among the layers that a node waits for: the network's inputs."""


@dataclass(frozen=True)
class GraphNode:
    """A node of the network. ``reads`` are the nodes whose results it takes, input k of the network being ``~k``;
    ``makes_bytes`` is the size of its own result. ``reuse``: how often an inference uses each of its weights (positions
    of a convolution's map, 1 of a fully connected layer); 0 if it has none.
    """

    name: str
    reads: tuple[int, ...]
    makes_bytes: int = 0
    reuse: int = 0
    weight_bytes: int = 0


@dataclass(frozen=True)
class WeightedLayer:
    """A node with weights; ``node`` is its number in the network. ``predecessors`` are the layers whose results it
    takes, as they are or through nodes without weights.
    """

    node: int
    name: str
    reuse: int
    weight_bytes: int
    predecessors: tuple[int, ...]


@dataclass(frozen=True)
class LayerGraph:
    """Nodes in an order in which each comes after those that it reads, and the bytes of the network's inputs."""

    name: str
    input_bytes: tuple[int, ...]
    nodes: tuple[GraphNode, ...]

    @cached_property
    def layers(self) -> tuple[WeightedLayer, ...]:
        """The nodes with weights, in order."""
        return tuple(
            WeightedLayer(k, node.name, node.reuse, node.weight_bytes, tuple(sorted(self.origins[k] - {INPUT})))
            for k, node in enumerate(self.nodes)
            if node.reuse
        )

    @cached_property
    def sinks(self) -> tuple[int, ...]:
        """The layers that no other waits for."""
        awaited = {before for layer in self.layers for before in layer.predecessors}
        return tuple(layer.node for layer in self.layers if layer.node not in awaited)

    @cached_property
    def origins(self) -> tuple[frozenset[int], ...]:
        """For each node the layers, or INPUT, that its operands come from, as they are or through nodes without
        weights.
        """
        origins: list[frozenset[int]] = []
        for node in self.nodes:
            origins.append(frozenset(origin for source in node.reads for origin in self._origins_of(source, origins)))
        return tuple(origins)

    def _origins_of(self, source: int, known: list[frozenset[int]]) -> frozenset[int]:
        if source < 0:
            return frozenset({INPUT})
        return frozenset({source}) if self.nodes[source].reuse else known[source]


def graph_of(network: Network) -> LayerGraph:
    """The graph of a network."""
    sources = {tensor: ~k for k, tensor in enumerate(network.inputs)}
    sources |= {node.output: k for k, node in enumerate(network.nodes)}
    nodes = tuple(_node(network, node, sources) for node in network.nodes)
    return LayerGraph(network.name, tuple(_bytes(network.tensors[tensor]) for tensor in network.inputs), nodes)


def _node(network: Network, node: Node, sources: dict[int, int]) -> GraphNode:
    reads = tuple(dict.fromkeys(sources[tensor] for tensor in node.inputs if tensor in sources))
    made = _bytes(network.tensors[node.output])
    count = macs(network, node)
    if not count:
        return GraphNode(node.name, reads, made)
    # of its constant operands the first are the weights
    weights = next(tensor for index in node.inputs if (tensor := network.tensors[index]).data is not None)
    return GraphNode(node.name, reads, made, count // prod(weights.shape), _bytes(weights))


def _bytes(tensor: Tensor) -> int:
    return prod(tensor.shape) * tensor.dtype.itemsize
