"""What of a network runs where: on the tiles, in the classifier, or at the host."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

from tilesim.arithmetic.table import inputs as every_input
from tilesim.errors import CapacityError
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators.add import Add
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.multiply import Multiply
from tilesim.network.operators.pad import Pad
from tilesim.network.operators.quantise import Quantise
from tilesim.network.operators.rescale import Rescale
from tilesim.network.operators.reshape import Reshape
from tilesim.network.operators.softmax import Softmax
from tilesim.network.operators.table import Table
from tilesim.tiled.compiler.data_movement import folded_pads, move_faults
from tilesim.tiled.compiler.feature_map import MapShape

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
    """A network output: the tensor that the tiles hold, and what the classifier and the host still do to it: a softmax
    (``at_host`` if it is one over a map), a look-up, a dequantisation.
    """

    model: Tensor
    stored: Tensor
    softmax: Softmax | None
    dequantise: Dequantise | None
    softmax_layer: int = -1
    lookup: tuple[int, ...] = ()
    at_host: Softmax | None = None

    @property
    def elements(self) -> int:
        """Elements that leave the tiles."""
        return prod(self.stored.shape)


@dataclass
class OperatorPlan:
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

    def place(self, layer: int) -> str:
        """Where a layer runs, as :class:`~tilesim.tiled.isa.model.program.Layer` has it."""
        if any(layer == step for step, _ in self.steps):
            return "tiles"
        if any(layer == sink.softmax_layer for sink in self.sinks):
            return "classifier"
        return "nowhere" if isinstance(self.network.nodes[layer].operator, Reshape | Pad) else "host"

    def activations(self, node: Node) -> list[Tensor]:
        """The stored tensors that a node reads."""
        return [self.stored(i) for i in node.inputs if self.network.tensors[i].data is None]

    @cached_property
    def reading(self) -> dict[int, list[int]]:
        """The steps (the first is 1) that read each stored tensor, once all are known."""
        found: dict[int, list[int]] = {}
        for step, (_, node) in enumerate(self.steps, 1):
            for index in dict.fromkeys(tensor.index for tensor in self.activations(node)):
                found.setdefault(index, []).append(step)
        return found


def outline(network: Network, word_bytes: int) -> OperatorPlan:
    """Sort the nodes by place.

    Raises:
        CapacityError: nodes that no place of this machine can run, all at once.
    """
    plan = OperatorPlan(network)
    faults: list[str] = []
    quantised = {node.inputs[0]: node for node in network.nodes if isinstance(node.operator, Quantise)}
    for index in network.inputs:
        plan.sources.append(_source(network, index, quantised.get(index)))
    at_host = {id(quantised[i]) for i in network.inputs if i in quantised}
    finishing, folded = _finishing(network), folded_pads(network)
    faults += _shape_faults(network)
    for layer, node in enumerate(network.nodes):
        if isinstance(node.operator, Reshape):
            plan.root[node.output] = node.inputs[0]
        elif layer in folded:
            plan.steps += [(layer, each) for each in folded[layer]]
        elif layer not in finishing and id(node) not in at_host:
            faults += _faults(network, node)
            faults += [f"{_where(network, node)} {fault}" for fault in move_faults(network, node, word_bytes)]
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


TAIL = ((Dequantise,), (Rescale, Table), (Softmax,))
"""What the classifier and the host can do on the way out, from the output backwards."""


def _tail(network: Network, output: int) -> list[int]:
    """The layers at an output that need not run on the tiles, from the last one backwards; a look-up that follows no
    softmax is none of them.
    """
    producers, found = _producers(network), []
    for kinds in TAIL:
        layer = producers.get(output, -1)
        if layer >= 0 and isinstance(network.nodes[layer].operator, kinds):
            found.append(layer)
            output = network.nodes[layer].inputs[0]
    kept = (Dequantise, Rescale, Table, Softmax) if any(_is(network, layer, Softmax) for layer in found) else Dequantise
    return [layer for layer in found if _is(network, layer, kept)]


def _is(network: Network, layer: int, kinds: type[Any] | tuple[type[Any], ...]) -> bool:
    return isinstance(network.nodes[layer].operator, kinds)


def _finishing(network: Network) -> set[int]:
    """Layers that the classifier or the host runs on the way out, as nothing on the tiles reads their results."""
    found = {layer for output in network.outputs for layer in _tail(network, output)}
    while True:
        used = {i for layer, node in enumerate(network.nodes) if layer not in found for i in node.inputs}
        kept = {layer for layer in found if network.nodes[layer].output not in used}
        if kept == found:
            return kept
        found = kept


def _sink(plan: OperatorPlan, index: int) -> Sink:
    network, finishing = plan.network, _finishing(plan.network)
    tail = [(layer, network.nodes[layer]) for layer in _tail(network, index) if layer in finishing]
    stored = plan.stored(tail[-1][1].inputs[0] if tail else index)
    sink = Sink(network.tensors[index], stored, None, None)
    for layer, node in tail:
        op, source = node.operator, network.tensors[node.inputs[0]]
        if isinstance(op, Dequantise):
            sink = replace(sink, dequantise=op)
        elif isinstance(op, Softmax) and MapShape.of(source.shape).pixels > 1:
            sink = replace(sink, at_host=op)
        elif isinstance(op, Softmax):
            sink = replace(sink, softmax=op, softmax_layer=layer)
        else:
            sink = replace(sink, lookup=tuple(int(entry) for entry in op.evaluate([every_input(source.dtype)])))
    return sink


def _faults(network: Network, node: Node) -> list[str]:
    where = _where(network, node)
    if isinstance(node.operator, Quantise | Dequantise | Softmax):
        return [f"{where} must stand at an input or an output of the network, not between layers"]
    shapes = {network.tensors[i].shape for i in node.inputs}
    if isinstance(node.operator, Add | Multiply) and len(shapes) > 1:
        verb = "add" if isinstance(node.operator, Add) else "multiply"
        return [f"{where} must {verb} tensors of one shape, not {' and '.join(map(str, sorted(shapes)))}"]
    return [
        f"{where} must work on activations, not on the constant {network.tensors[i].title}"
        for i in _fixed(network, node)
    ]


def _where(network: Network, node: Node) -> str:
    return f"{network.name}: node {node.title} ({node.kind})"


def _fixed(network: Network, node: Node) -> list[int]:
    """The constants among the inputs that must be activations: all that are no weights."""
    weighted = isinstance(node.operator, Convolution | DepthwiseConvolution | FullyConnected)
    return [i for i in (node.inputs[:1] if weighted else node.inputs) if network.tensors[i].data is not None]


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


def _reshape_faults(plan: OperatorPlan, word_bytes: int) -> list[str]:
    """A reshape moves nothing, so its readers must be able to use the bytes where they lie."""
    network, faults = plan.network, []
    for node in network.nodes:
        if not isinstance(node.operator, Reshape):
            continue
        before, after = MapShape.of(plan.stored(node.output).shape), MapShape.of(network.tensors[node.output].shape)
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
