"""Which nodes become one task: those that need not leave the vector unit join the layer before them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilesim.network.graph import Node, Tensor
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.normalise import Normalise
from tilesim.network.operators.table import Table
from tilesim.systolic.compiler.array_plan import ArrayPlan
from tilesim.systolic.compiler.task import POOLS, WEIGHTED, OperatorTask, operand_indices
from tilesim.systolic.topology import Topology


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
    op, before = node.operator, [behind_it.operator for behind_it in behind]
    if isinstance(op, Table):
        return not before
    if isinstance(op, POOLS):  # whole maps, of which the accumulators hold two
        room = prod(made.shape[:-1]) <= topology.accumulators.entries // 2
        return room and not any(isinstance(behind_it, POOLS) for behind_it in before)
    whole = made.shape[-1] <= topology.array.outputs and getattr(first.operator, "groups", 1) == 1
    known = isinstance(first.operator, Convolution | FullyConnected)
    return (
        isinstance(op, Normalise)
        and known
        and whole
        and not any(isinstance(behind_it, Normalise) for behind_it in before)
    )
