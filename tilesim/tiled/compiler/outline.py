"""What of a network runs where: on the tiles, in the classifier, or at the host."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from tilesim.errors import CapacityError
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators.add import Add
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.quantise import Quantise
from tilesim.network.operators.reshape import Reshape
from tilesim.network.operators.softmax import Softmax
from tilesim.tiled.compiler.feature_map import Shape

FLATTENING = {"fullyconnected", "reshape"}
"""Layers that read a vector wherever its elements lie in a map."""
LEAVING = {"softmax", "dequantise", "output"}
"""What gets a vector as whole rows."""


@dataclass(frozen=True)
class Source:
    """A network input: the tensor that the model names, the one that the tiles get, and the host's step between, if
    any.
    """

    model: Tensor
    stored: Tensor
    quantise: Quantise | None


@dataclass(frozen=True)
class Sink:
    """A network output: the tensor that the tiles hold, and what the classifier and the host still do to it."""

    model: Tensor
    stored: Tensor
    softmax: Softmax | None
    dequantise: Dequantise | None
    softmax_layer: int = -1

    @property
    def elements(self) -> int:
        """Elements that leave the tiles."""
        return prod(self.stored.shape)


@dataclass
class Outline:
    """The network sorted by place. ``steps`` are (layer, node) for the tiles; ``root`` maps a tensor to the one whose
    bytes it shares.
    """

    network: Network
    steps: list[tuple[int, Node]] = field(default_factory=list)
    root: dict[int, int] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    sinks: list[Sink] = field(default_factory=list)

    def stored(self, tensor: int) -> Tensor:
        """The tensor that holds the bytes of ``tensor``."""
        while tensor in self.root:
            tensor = self.root[tensor]
        return self.network.tensors[tensor]

    def activations(self, node: Node) -> list[Tensor]:
        """The stored tensors that a node reads."""
        return [self.stored(i) for i in node.inputs if self.network.tensors[i].data is None]


def outline(network: Network, word_bytes: int) -> Outline:
    """Sort the nodes by place.

    Raises:
        CapacityError: nodes that no place of this machine can run, all at once.
    """
    plan = Outline(network)
    faults: list[str] = []
    quantised = {node.inputs[0]: node for node in network.nodes if isinstance(node.operator, Quantise)}
    for index in network.inputs:
        plan.sources.append(_source(network, index, quantised.get(index)))
    at_host = {id(quantised[i]) for i in network.inputs if i in quantised}
    finishing = _finishing(network)
    faults += _shape_faults(network)
    for layer, node in enumerate(network.nodes):
        if isinstance(node.operator, Reshape):
            plan.root[node.output] = node.inputs[0]
        elif layer in finishing:
            faults += _softmax_faults(network, node)
        elif id(node) not in at_host:
            faults += _faults(network, node)
            plan.steps.append((layer, node))
    faults += _reshape_faults(plan, word_bytes)
    if faults:
        raise CapacityError(faults)
    plan.sinks = [_sink(plan, index) for index in network.outputs]
    return plan


def _source(network: Network, index: int, quantise: Node | None) -> Source:
    model = network.tensors[index]
    if quantise is None:
        return Source(model, model, None)
    assert isinstance(quantise.operator, Quantise)
    return Source(model, network.tensors[quantise.output], quantise.operator)


def _producers(network: Network) -> dict[int, int]:
    return {node.output: layer for layer, node in enumerate(network.nodes)}


def _finishing(network: Network) -> set[int]:
    """Layers that the classifier or the host runs on the way out: softmax, then dequantisation."""
    producers, found = _producers(network), set()
    for output in network.outputs:
        index = output
        for kind in (Dequantise, Softmax):
            layer = producers.get(index)
            if layer is not None and isinstance(network.nodes[layer].operator, kind):
                found.add(layer)
                index = network.nodes[layer].inputs[0]
    used = {i for layer, node in enumerate(network.nodes) if layer not in found for i in node.inputs}
    return {layer for layer in found if network.nodes[layer].output not in used}


def _sink(plan: Outline, index: int) -> Sink:
    network, producers, finishing = plan.network, _producers(plan.network), _finishing(plan.network)
    model, steps, layers = network.tensors[index], {}, {}
    for kind in (Dequantise, Softmax):
        layer = producers.get(index, -1)
        if layer in finishing and isinstance(network.nodes[layer].operator, kind):
            steps[kind], layers[kind] = network.nodes[layer].operator, layer
            index = network.nodes[layer].inputs[0]
    return Sink(
        model,
        plan.stored(index),
        steps.get(Softmax),  # type: ignore[arg-type]
        steps.get(Dequantise),  # type: ignore[arg-type]
        layers.get(Softmax, -1),
    )


def _faults(network: Network, node: Node) -> list[str]:
    where = f"{network.name}: node {node.title} ({node.kind})"
    if isinstance(node.operator, Quantise | Dequantise | Softmax):
        return [f"{where} must stand at an input or an output of the network, not between layers"]
    shapes = {network.tensors[i].shape for i in node.inputs}
    if isinstance(node.operator, Add) and len(shapes) > 1:
        return [f"{where} must add tensors of one shape, not {' and '.join(map(str, sorted(shapes)))}"]
    return [
        f"{where} must work on activations, not on the constant {network.tensors[i].title}"
        for i in _fixed(network, node)
    ]


def _softmax_faults(network: Network, node: Node) -> list[str]:
    shape = Shape.of(network.tensors[node.inputs[0]].shape)
    if not isinstance(node.operator, Softmax) or shape.pixels == 1:
        return []
    return [f"{network.name}: node {node.title} (softmax) must work on a vector, not on a map of {shape}"]


def _fixed(network: Network, node: Node) -> list[int]:
    activations = 2 if isinstance(node.operator, Add) else 1
    return [i for i in node.inputs[:activations] if network.tensors[i].data is not None]


def _shape_faults(network: Network) -> list[str]:
    """A map is (1, height, width, channels), a vector (1, n)."""
    fixed = {index for index, tensor in network.tensors.items() if tensor.data is not None}
    made = [(network.tensors[node.output], f"node {node.title} ({node.kind})") for node in network.nodes]
    given = [(network.tensors[index], f"input {network.tensors[index].title}") for index in network.inputs]
    return [
        f"{network.name}: {who} must make one map (1, height, width, channels) or one vector (1, n), not {tensor.shape}"
        for tensor, who in (*given, *made)
        if tensor.index not in fixed
        and (len(tensor.shape) not in (1, 2, 4) or prod(tensor.shape[: -3 if len(tensor.shape) == 4 else -1]) != 1)
    ]


def _reshape_faults(plan: Outline, word_bytes: int) -> list[str]:
    """A reshape moves nothing, so its readers must be able to use the bytes where they lie."""
    network, faults = plan.network, []
    for node in network.nodes:
        if not isinstance(node.operator, Reshape):
            continue
        before, after = Shape.of(plan.stored(node.output).shape), Shape.of(network.tensors[node.output].shape)
        readers = {reader.kind for reader in network.nodes if node.output in reader.inputs}
        readers |= {"output"} if node.output in network.outputs else set()
        whole_words = before.channels % word_bytes == 0 or before.pixels == 1
        flattens = after.pixels == 1 and readers <= ({*LEAVING, *FLATTENING} if whole_words else FLATTENING)
        if before != after and not flattens:
            faults.append(
                f"{network.name}: node {node.title} (reshape) must leave its shape alone, flatten a map for fully "
                f"connected layers, or flatten one whose channels fill words of {word_bytes} bytes for an output, not "
                f"turn {before} into {after}"
            )
    return faults
