"""What of a network runs where: on the array, in the vector unit, or at the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tilesim.errors import CapacityError
from tilesim.lowering.operator_plan import NetworkOutput, OperatorPlan, network_inputs, nodes_and_root
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators.dequantise import Dequantise
from tilesim.network.operators.quantise import Quantise
from tilesim.systolic.compiler.lower.operators import node_faults
from tilesim.systolic.compiler.task import WEIGHTED, operand_indices
from tilesim.systolic.isa.model.program import Place


@dataclass(frozen=True)
class ArrayPlan(OperatorPlan[NetworkOutput]):
    """A network sorted by place."""

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
        readers: dict[int, tuple[int, ...]] = {}
        for layer, node in self.nodes.items():
            for index in dict.fromkeys(tensor.index for tensor in self.operands(node)):
                readers[index] = (*readers.get(index, ()), layer)
        for sink in self.sinks:
            readers[sink.stored.index] = (*readers.get(sink.stored.index, ()), -1)
        return readers


def plan_operators(network: Network) -> ArrayPlan:
    """Sort the nodes by place.

    Raises:
        CapacityError: what no place of this machine can run, all at once.
    """
    inputs, at_host = network_inputs(network)
    dequantised = {
        node.output: layer
        for layer, node in enumerate(network.nodes)
        if isinstance(node.operator, Dequantise) and node.output in network.outputs
    }
    plan = ArrayPlan(network, *nodes_and_root(network, at_host | {*dequantised.values()}), inputs, ())
    plan = replace(plan, sinks=[_output(plan, index, dequantised.get(index)) for index in network.outputs])
    if faults := list(_faults(plan)):
        raise CapacityError(faults)
    return plan


def _output(plan: ArrayPlan, index: int, layer: int | None) -> NetworkOutput:
    model = plan.network.tensors[index]
    if layer is None:
        return NetworkOutput(model, plan.stored(index))
    node = plan.network.nodes[layer]
    assert isinstance(node.operator, Dequantise)
    return NetworkOutput(model, plan.stored(node.inputs[0]), node.operator)


def _faults(plan: ArrayPlan) -> Iterator[str]:
    name = plan.network.name
    for node in plan.nodes.values():
        yield from (f"{name}: node {node.title} ({node.kind}) {fault}" for fault in node_faults(plan.network, node))
    for source in plan.sources:
        if source.stored.dtype.name not in ("int8", "uint8", "int16"):
            dtype = source.stored.dtype
            yield f"{name}: input {source.model.title} must be int8, uint8, int16 or quantised, not {dtype}"
    made = {node.output for node in plan.nodes.values()}
    for sink in plan.sinks:
        if sink.stored.index not in made:
            what = "an input" if sink.stored.data is None else "a constant"
            yield f"{name}: output {sink.model.title} must be computed, not {what}"
