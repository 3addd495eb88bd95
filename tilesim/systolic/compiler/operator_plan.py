"""What of a network runs where: on the array, in the vector unit, or at the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tilesim.errors import CapacityError
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.quantise import Quantise
from tilesim.network.operators.reshape import Reshape
from tilesim.systolic.compiler.borders import without_borders
from tilesim.systolic.compiler.support import WEIGHTED, Weighted, node_faults
from tilesim.systolic.isa.model.program import Place


@dataclass(frozen=True)
class Source:
    """A network input: the tensor that the model names, the one that comes to the chip, and the host's step between."""

    model: Tensor
    stored: Tensor
    quantise: Quantise | None


@dataclass(frozen=True)
class Sink:
    """A network output: the tensor that the model names, the one that leaves the chip, and the host's step between."""

    model: Tensor
    stored: Tensor
    dequantise: Dequantise | None


@dataclass(frozen=True)
class OperatorPlan:
    """A network sorted by place: ``nodes`` are those that the chip runs, by their numbers; ``root`` maps a tensor to
    the one whose bytes it shares.
    """

    network: Network
    nodes: Mapping[int, Node] = field(repr=False)
    sources: tuple[Source, ...]
    sinks: tuple[Sink, ...]
    root: Mapping[int, int]

    def stored(self, tensor: int) -> Tensor:
        """The tensor that holds the bytes of ``tensor``."""
        while tensor in self.root:
            tensor = self.root[tensor]
        return self.network.tensors[tensor]

    def operands(self, node: Node) -> tuple[Tensor, ...]:
        """The tensors that a node reads from the unified buffer, as they lie there."""
        return tuple(self.stored(index) for index in operand_indices(node))

    def place(self, layer: int) -> Place:
        node = self.nodes.get(layer)
        if node is None:
            at_host = isinstance(self.network.nodes[layer].operator, Quantise | Dequantise)
            return "host" if at_host else "nowhere"
        return "array" if isinstance(node.operator, WEIGHTED) else "vector"

    @cached_property
    def readers(self) -> Mapping[int, tuple[int, ...]]:
        """The nodes that read each stored tensor, -1 for the host."""
        found: dict[int, tuple[int, ...]] = {}
        for layer, node in self.nodes.items():
            for tensor in {each.index: each for each in self.operands(node)}.values():
                found[tensor.index] = (*found.get(tensor.index, ()), layer)
        for sink in self.sinks:
            found[sink.stored.index] = (*found.get(sink.stored.index, ()), -1)
        return found


def operand_indices(node: Node) -> tuple[int, ...]:
    """The tensors that a node reads: all but weights and biases."""
    return node.inputs[:1] if isinstance(node.operator, Weighted) else node.inputs


def outline(network: Network) -> OperatorPlan:
    """Sort the nodes by place.

    Raises:
        CapacityError: what no place of this machine can run, all at once.
    """
    quantised = {n.inputs[0]: n for n in reversed(network.nodes) if isinstance(n.operator, Quantise)}
    dequantised = {n.output: n for n in network.nodes if isinstance(n.operator, Dequantise)}
    at_host = {id(quantised[i]) for i in network.inputs if i in quantised}
    at_host |= {id(dequantised[i]) for i in network.outputs if i in dequantised}
    nodes, root = {}, {}
    for layer, node in without_borders(network).items():
        if isinstance(node.operator, Reshape):
            root[node.output] = node.inputs[0]
        elif id(node) not in at_host:
            nodes[layer] = node
    found = OperatorPlan(network, nodes, (), (), root)
    sources = tuple(_source(network, index, quantised.get(index)) for index in network.inputs)
    sinks = tuple(_sink(found, index, dequantised.get(index)) for index in network.outputs)
    found = OperatorPlan(network, nodes, sources, sinks, root)
    if faults := list(_faults(found)):
        raise CapacityError(faults)
    return found


def _source(network: Network, index: int, node: Node | None) -> Source:
    model = network.tensors[index]
    if node is None:
        return Source(model, model, None)
    assert isinstance(node.operator, Quantise)
    return Source(model, network.tensors[node.output], node.operator)


def _sink(found: OperatorPlan, index: int, node: Node | None) -> Sink:
    model = found.network.tensors[index]
    if node is None:
        return Sink(model, found.stored(index), None)
    assert isinstance(node.operator, Dequantise)
    return Sink(model, found.stored(node.inputs[0]), node.operator)


def _faults(found: OperatorPlan) -> Iterator[str]:
    name = found.network.name
    for node in found.nodes.values():
        yield from (f"{name}: node {node.title} ({node.kind}) {fault}" for fault in node_faults(found.network, node))
    for source in found.sources:
        if source.stored.dtype.name not in ("int8", "uint8", "int16"):
            dtype = source.stored.dtype
            yield f"{name}: input {source.model.title} must be int8, uint8, int16 or quantised, not {dtype}"
    made = {node.output for node in found.nodes.values()}
    for sink in found.sinks:
        if sink.stored.index not in made:
            what = "an input" if sink.stored.data is None else "a constant"
            yield f"{name}: output {sink.model.title} must be computed, not {what}"
