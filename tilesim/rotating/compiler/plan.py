"""What of a network the array runs, and what the host does at its ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tilesim.errors import CapacityError
from tilesim.lowering.operator_plan import NetworkOutput, OperatorPlan, absorb_pads, network_inputs
from tilesim.network.graph import Network, Node
from tilesim.network.operators import Dequantise, FullyConnected, Reshape, Softmax
from tilesim.rotating.compiler.lower.operators import node_faults
from tilesim.rotating.compiler.task import ALONE, WEIGHTED, MapShape, Task, map_shape, operand_indices
from tilesim.rotating.topology import Topology


@dataclass(frozen=True)
class RowOutput(NetworkOutput):
    """``softmax``: what the host makes of the values before it gives them away."""

    softmax: Softmax | None = None


@dataclass(frozen=True)
class RowPlan(OperatorPlan[RowOutput]):
    """A network sorted by place."""


def plan_operators(network: Network, topology: Topology) -> RowPlan:
    """Sort the nodes by place.

    Raises:
        CapacityError: what no place of this machine can run, all at once.
    """
    inputs, at_host = network_inputs(network)
    sinks, behind = _sinks(network)
    nodes = {layer: node for layer, node in absorb_pads(network).items() if layer not in at_host | behind}
    root = {node.output: node.inputs[0] for node in nodes.values() if _is_view(network, nodes, node)}
    nodes = {layer: node for layer, node in nodes.items() if node.output not in root}
    plan = RowPlan(network, nodes, root, inputs, ())
    plan = replace(plan, sinks=[replace(sink, stored=plan.stored(sink.stored.index)) for sink in sinks])
    if faults := list(_faults(plan, topology)):
        raise CapacityError(faults)
    return plan


def _sinks(network: Network) -> tuple[list[RowOutput], set[int]]:
    """The outputs, and the layers behind the last one of the chip."""
    makers = {node.output: (layer, node) for layer, node in enumerate(network.nodes)}
    sinks, behind = [], set[int]()
    for index in network.outputs:
        sink = RowOutput(network.tensors[index], network.tensors[index])
        while (made := makers.get(sink.stored.index)) is not None:
            layer, node = made
            if isinstance(node.operator, Dequantise) and sink.dequantise is None and sink.softmax is None:
                sink = replace(sink, dequantise=node.operator)
            elif isinstance(node.operator, Softmax) and sink.softmax is None and _only(network, node.output):
                sink = replace(sink, softmax=node.operator)
            else:
                break
            behind.add(layer)
            sink = replace(sink, stored=network.tensors[node.inputs[0]])
        sinks.append(sink)
    return sinks, behind


def _only(network: Network, tensor: int) -> bool:
    """Whether the host alone reads a tensor: nothing does, or what dequantises it."""
    readers = [node for node in network.nodes if tensor in node.inputs]
    return all(isinstance(node.operator, Dequantise) and node.output in network.outputs for node in readers)


def _is_view(network: Network, nodes: Mapping[int, Node], node: Node) -> bool:
    """Whether a reshape leaves all where it is: its readers take its elements in any shape, or it is the same map."""
    if not isinstance(node.operator, Reshape):
        return False
    before, after = (map_shape(network.tensors[index].shape) for index in (node.inputs[0], node.output))
    if before == after:
        return True
    readers = [other for other in nodes.values() if node.output in other.inputs]
    return all(_takes_any(network, nodes, reader) for reader in readers)


def _takes_any(network: Network, nodes: Mapping[int, Node], node: Node) -> bool:
    if isinstance(node.operator, ALONE):
        readers = [other for other in nodes.values() if node.output in other.inputs]
        return all(_takes_any(network, nodes, reader) for reader in readers)
    return isinstance(node.operator, FullyConnected) or _is_view(network, nodes, node)


def _faults(plan: RowPlan, topology: Topology) -> Iterator[str]:
    name = plan.network.name
    for node in plan.nodes.values():
        faults = node_faults(plan.network, node, topology)
        yield from (f"{name}: node {node.title} ({node.kind}) {fault}" for fault in faults)
    for source in plan.sources:
        if source.stored.dtype.name not in ("int8", "uint8", "int16"):
            dtype = source.stored.dtype
            yield f"{name}: input {source.model.title} must be int8, uint8, int16 or quantised, not {dtype}"
    made = {node.output for node in plan.nodes.values()}
    for sink in plan.sinks:
        if sink.stored.index not in made:
            what = "an input" if sink.stored.data is None else "a constant"
            yield f"{name}: output {sink.model.title} must be computed, not {what}"


def tasks_of(plan: RowPlan) -> list[Task]:
    """All that runs on the chip, in an order in which each input is ready before it is used."""
    shapes: dict[int, MapShape] = {}
    tasks = []
    for layer, node in plan.nodes.items():
        tensors = plan.network.tensors
        inputs = tuple(plan.stored(index) for index in operand_indices(node))
        output = tensors[node.output]
        maps = tuple(shapes.setdefault(tensor.index, map_shape(tensor.shape)) for tensor in inputs)
        made = maps[0] if isinstance(node.operator, ALONE) else map_shape(output.shape)
        shapes[output.index] = made
        weights = node.inputs[1:] if isinstance(node.operator, WEIGHTED) else ()
        constants = tuple(data for index in weights if (data := tensors[index].data) is not None)
        tasks.append(Task(layer, node, inputs, output, maps, made, constants))
    return tasks
