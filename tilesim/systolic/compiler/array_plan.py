"""What of a network runs where: on the array, in the vector unit, or at the host; and what of it runs as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod

from msgspec.structs import replace

from tilesim.errors import CapacityError
from tilesim.lowering.operator_plan import NetworkOutput, OperatorPlan, network_inputs, nodes_and_root
from tilesim.network.graph import Network, Node, Tensor
from tilesim.network.operators import Convolution, Dequantise, FullyConnected, Normalise, Quantise, Table
from tilesim.systolic.compiler.lower.operators import node_faults
from tilesim.systolic.compiler.task import POOLS, WEIGHTED, OperatorTask, operand_indices
from tilesim.systolic.isa.model.program import Place
from tilesim.systolic.topology import Topology


class ArrayPlan(OperatorPlan[NetworkOutput], frozen=True, dict=True):
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
        node.output: (layer, node.inputs[0], node.operator)
        for layer, node in enumerate(network.nodes)
        if isinstance(node.operator, Dequantise) and node.output in network.outputs
    }
    at_host |= {layer for layer, _, _ in dequantised.values()}
    plan = ArrayPlan(network, *nodes_and_root(network, at_host), inputs, ())
    sinks = []
    for index in network.outputs:
        _, made, step = dequantised.get(index, (-1, index, None))
        sinks.append(NetworkOutput(network.tensors[index], plan.stored(made), step))
    plan = replace(plan, sinks=sinks)
    if faults := list(_faults(plan)):
        raise CapacityError(faults)
    return plan


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


def tasks_of(plan: ArrayPlan, topology: Topology) -> tuple[OperatorTask, ...]:
    """All that runs on the chip, in an order in which each input is ready before it is used."""
    tasks, done = [], set()
    for layer, node in plan.nodes.items():
        if layer in done:
            continue
        followers = list(_followers(plan, layer, topology)) if isinstance(node.operator, WEIGHTED) else []
        done.update(followers)
        behind = tuple(plan.nodes[k] for k in followers)
        tensors = plan.network.tensors
        last = (node, *behind)[-1]
        inputs = tuple(tensors[index] for index in operand_indices(node))
        made, output = tensors[node.output], tensors[last.output]
        tasks.append(OperatorTask(layer, node, behind, inputs, plan.operands(node), made, output))
    return tuple(tasks)


def _followers(plan: ArrayPlan, layer: int, topology: Topology) -> Iterator[int]:
    """The nodes that need not leave the vector unit: each the only reader of the one before."""
    first, tensor = plan.nodes[layer], plan.network.tensors[plan.nodes[layer].output]
    behind: list[Node] = []
    while len(readers := plan.readers.get(tensor.index, ())) == 1 and readers[0] >= 0:
        node = plan.nodes[readers[0]]
        target = plan.network.tensors[node.output]
        if node.inputs != (tensor.index,) or target.dtype != tensor.dtype:
            return
        if not _joins(node, behind, first, plan.network.tensors[first.output], topology):
            return
        yield readers[0]
        behind.append(node)
        tensor = target


def _joins(node: Node, behind: list[Node], first: Node, made: Tensor, topology: Topology) -> bool:
    """Whether the vector unit can do ``node`` on the way, after those ``behind`` a ``first`` that makes ``made``."""
    op, before = node.operator, [follower.operator for follower in behind]
    if isinstance(op, Table):
        return not before
    if isinstance(op, POOLS):  # whole maps, of which the accumulators hold two
        room = prod(made.shape[:-1]) <= topology.accumulators.entries // 2
        return room and not any(isinstance(other, POOLS) for other in before)
    if not isinstance(op, Normalise) or any(isinstance(other, Normalise) for other in before):
        return False
    whole = made.shape[-1] <= topology.array.outputs and getattr(first.operator, "groups", 1) == 1
    return whole and isinstance(first.operator, Convolution | FullyConnected)
