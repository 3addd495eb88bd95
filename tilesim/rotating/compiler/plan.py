"""What of a network the array runs, and what the host does at its ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from tilesim.errors import CapacityError
from tilesim.lowering.classifying import CLASSIFYING, Classifying
from tilesim.lowering.operator_plan import NetworkOutput, OperatorPlan, absorb_pads, network_inputs
from tilesim.network.graph import Network, Node, Operator
from tilesim.network.operators import Dequantise, FullyConnected, Reshape, ResizeNearest
from tilesim.rotating.compiler.lower.operators import node_faults
from tilesim.rotating.compiler.task import (
    ALONE,
    FRESH,
    PAIRS,
    WEIGHTED,
    MapShape,
    Task,
    map_shape,
    operand_indices,
)
from tilesim.rotating.topology import Topology


class RowOutput(NetworkOutput, frozen=True):
    """``classifying``: what the host makes of the values, which it then replaces by the entries of ``lookup`` that they
    count.
    """

    classifying: Classifying | None = None
    lookup: tuple[int, ...] = ()


class RowPlan(OperatorPlan[RowOutput], frozen=True):
    """A network sorted by place."""


def plan_operators(network: Network, topology: Topology) -> RowPlan:
    """Sort the nodes by place.

    Raises:
        CapacityError: what no place of this machine can run, all at once.
    """
    inputs, at_host = network_inputs(network)
    sinks, behind = _sinks(network)
    nodes = {layer: node for layer, node in absorb_pads(network).items() if layer not in at_host | behind}
    shaped = {sink.stored.index for sink in sinks if sink.classifying}
    root = {node.output: node.inputs[0] for node in nodes.values() if _is_view(network, nodes, node, shaped)}
    nodes = {layer: node for layer, node in nodes.items() if node.output not in root}
    plan = RowPlan(network, nodes, root, inputs, ())
    plan = structs.replace(plan, sinks=[structs.replace(sink, stored=plan.stored(sink.stored.index)) for sink in sinks])
    if faults := list(_faults(plan, topology)):
        raise CapacityError(faults)
    return plan


TAIL = (Dequantise, ALONE, CLASSIFYING)
"""What the host does at an output, the last first; it looks nothing up but what a softmax or a choice has made."""


def _sinks(network: Network) -> tuple[list[RowOutput], set[int]]:
    """The outputs, and the layers behind the last one of the chip."""
    tails = [_tail(network, index) for index in network.outputs]
    behind = {layer for tail in tails for layer in tail}
    return [_sink(network, index, tail) for index, tail in zip(network.outputs, tails, strict=True)], behind


def _tail(network: Network, index: int) -> dict[int, Node]:
    """The layers at an output that the host runs, the last first."""
    makers = {node.output: (layer, node) for layer, node in enumerate(network.nodes)}
    tail: dict[int, Node] = {}
    for kinds in TAIL:
        made = makers.get(index)
        if made is not None and isinstance(made[1].operator, kinds) and _only(network, index, tail):
            tail[made[0]] = made[1]
            index = made[1].inputs[0]
    if any(isinstance(node.operator, CLASSIFYING) for node in tail.values()):
        return tail
    return {layer: node for layer, node in tail.items() if isinstance(node.operator, Dequantise)}


def _only(network: Network, index: int, tail: Mapping[int, Node]) -> bool:
    """Whether nothing but a ``tail`` reads a tensor, and no host without it."""
    readers = [layer for layer, node in enumerate(network.nodes) if index in node.inputs]
    return all(layer in tail for layer in readers) and not (tail and index in network.outputs)


def _sink(network: Network, index: int, tail: Mapping[int, Node]) -> RowOutput:
    sink = RowOutput(network.tensors[index], network.tensors[index])
    for node in tail.values():
        op, source = node.operator, network.tensors[node.inputs[0]]
        if isinstance(op, Dequantise):
            sink = structs.replace(sink, stored=source, dequantise=op)
        elif isinstance(op, CLASSIFYING):
            sink = structs.replace(sink, stored=source, classifying=op)
        else:
            entries = op.evaluate([np.arange(256, dtype=np.uint8).view(source.dtype)])
            sink = structs.replace(sink, stored=source, lookup=tuple(entries.tolist()))
    return sink


def _is_view(network: Network, nodes: Mapping[int, Node], node: Node, shaped: set[int]) -> bool:
    """Whether a reshape leaves all where it is: its readers take its elements in any shape, or it is the same map.
    Who reads those that are ``shaped`` needs their own.
    """
    if not isinstance(node.operator, Reshape):
        return False
    before, after = (map_shape(network.tensors[index].shape) for index in (node.inputs[0], node.output))
    return before == after or _any_shape(network, nodes, node.output, shaped)


def _any_shape(network: Network, nodes: Mapping[int, Node], index: int, shaped: set[int]) -> bool:
    """Whether all readers of a tensor take its elements in any shape."""
    readers = [node for node in nodes.values() if index in node.inputs]
    return index not in shaped and all(
        isinstance(reader.operator, FullyConnected)
        or _is_view(network, nodes, reader, shaped)
        or (isinstance(reader.operator, ALONE) and _any_shape(network, nodes, reader.output, shaped))
        for reader in readers
    )


def _faults(plan: RowPlan, topology: Topology) -> Iterator[str]:
    name = plan.network.name
    for node in plan.nodes.values():
        faults = node_faults(plan.network, node, topology)
        yield from (f"{name}: node {node.title} ({node.kind}) {fault}" for fault in faults)
    for source in plan.sources:
        if source.stored.dtype.name not in ("int8", "uint8", "int16"):
            dtype = source.stored.dtype
            yield f"{name}: input {source.model.title} must be int8, uint8, int16 or quantised, not {dtype}"
    read = {plan.stored(index).index for node in plan.nodes.values() for index in node.inputs}
    for source in plan.sources:
        if source.stored.index not in read:
            yield f"{name}: input {source.model.title} must be read by a layer that the chip runs"
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
        made = map_shape(output.shape)
        if isinstance(node.operator, PAIRS):
            shapes.update({tensor.index: made for tensor in inputs if tensor.data is not None})
        maps = tuple(shapes.setdefault(tensor.index, map_shape(tensor.shape)) for tensor in inputs)
        made = maps[0] if isinstance(node.operator, ALONE) else made
        shapes[output.index] = made
        shapes_read = tuple(tensors[index].shape for index in operand_indices(node))
        weights = node.inputs[1:] if isinstance(node.operator, WEIGHTED) else ()
        constants = tuple(data for index in weights if (data := tensors[index].data) is not None)
        task = Task(layer, node, inputs, output, maps, made, plan.network.name, constants=constants, shapes=shapes_read)
        tasks += _spread(task) if isinstance(node.operator, PAIRS) else [task]
    return tasks


def _spread(pair: Task) -> list[Task]:
    """A pair, and before it what makes a line of each pixel that goes with all of a map."""
    tasks = [pair]
    width = pair.made[1]
    for tensor, shape in zip(pair.inputs, pair.maps, strict=True):
        if tensor.data is None and shape != pair.made:
            tasks = with_copy(tasks, tasks[-1], tensor.index, ResizeNearest((0,), (0,) * width), (1, width, shape[2]))
    return tasks


def with_copy(
    tasks: Sequence[Task], reader: Task, index: int, op: Operator | None = None, made: MapShape | None = None
) -> list[Task]:
    """The tasks, and before ``reader`` one that copies a tensor, or makes a map of it, which it reads instead."""
    place = next(k for k, task in enumerate(tasks) if task is reader)
    number = [tensor.index for tensor in reader.inputs].index(index)
    tensor, shape = reader.inputs[number], reader.maps[number]
    made = made or shape
    fresh = reader.output.index + FRESH
    while fresh in {task.output.index for task in tasks}:
        fresh += FRESH
    copy = replace(tensor, index=fresh, shape=(1, *made))
    node = Node(f"copy of {tensor.name}", op or Reshape((1, *shape)), (index,), fresh)
    cut = None if reader.cut is None else replace(reader.cut, moved=None)
    task = Task(reader.layer, node, (tensor,), copy, (shape,), made, reader.network, is_copy=True, cut=cut)
    own = [one.index == index for one in reader.inputs]
    inputs = tuple(copy if copied else one for one, copied in zip(reader.inputs, own, strict=True))
    maps = tuple(made if copied else one for one, copied in zip(reader.maps, own, strict=True))
    return [*tasks[:place], task, replace(reader, inputs=inputs, maps=maps), *tasks[place + 1 :]]
