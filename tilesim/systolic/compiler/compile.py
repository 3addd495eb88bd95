"""The compiler of the systolic machine: a network and a chip in, a program out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilesim.batching import Plan, Room, ScheduleStep, graph_of
from tilesim.errors import CapacityError
from tilesim.lowering.operator_plan import NetworkInput, NetworkOutput, host_fields
from tilesim.machines.options import Say, silent
from tilesim.machines.program import DataSegment
from tilesim.network.graph import Network, macs
from tilesim.network.operators import Table
from tilesim.systolic.compiler.array_plan import ArrayPlan, plan_operators, tasks_of
from tilesim.systolic.compiler.emitter import synchronised
from tilesim.systolic.compiler.fetching import fetched
from tilesim.systolic.compiler.placement import place
from tilesim.systolic.compiler.product import Product, WeightLayout, layout_of, product_of
from tilesim.systolic.compiler.steps import turns
from tilesim.systolic.compiler.storage import Storage
from tilesim.systolic.compiler.stream import InstructionStream
from tilesim.systolic.compiler.task import OperatorTask, element_of
from tilesim.systolic.compiler.weight_tiles import tiles
from tilesim.systolic.isa.model.instructions import Halt, Instruction, ReadHostMemory
from tilesim.systolic.isa.model.program import Batching, HostTensor, Layer, Prediction, Program, Step
from tilesim.systolic.run.simulate import timed
from tilesim.systolic.topology import Topology


def compile_network(network: Network, topology: Topology, say: Say = silent, plan: Plan | None = None) -> Program:
    """The program of one inference, or of those of a ``plan``, whose steps run in its order.

    Layers with weights run on the array, all others in the vector unit; tensors lie whole in the unified buffer, and
    parameters beside them all the time. Weights are in weight memory as tiles in the order in which they are fetched.
    ``say`` is told what was done.

    Raises:
        CapacityError: a network that does not fit, or has layers that this machine can't run.
    """
    operators = plan_operators(network)
    tasks = tasks_of(operators, topology)
    storage = Storage()
    products, weights = _products(network, tasks, topology, storage)
    inferences = plan.inferences if plan else 1
    steps = plan.steps if plan else [ScheduleStep(task.layer, 0, 1) for task in tasks if task.weighted]
    order = turns(tasks, steps, inferences, _at_once(products))
    where = place(operators, order, storage.size_bytes, topology.unified_buffer.size_bytes)
    stream = InstructionStream(operators, topology, order, where, products, storage)
    stream.write()
    used = storage.size_bytes + max(where.bytes_in_use, default=0)
    say(f"{network.name} on {topology.name}: {weights.size} bytes of weights, {used} of the unified buffer")
    segments = tuple(DataSegment(*named) for named in (("weights", weights), ("parameters", storage.data())))
    return Program(
        name=network.name,
        topology=topology,
        load=_load(segments),
        run=(*synchronised(fetched(stream.items, topology), topology), Halt(label="end")),
        data=segments,
        inputs=_host_tensors(operators.sources, inferences),
        outputs=_host_tensors(operators.sinks, inferences),
        layers=tuple(_layers(operators, products)),
        tensors=tuple(stream.tensors()),
        inferences=inferences,
        batching=_batching(plan, stream) if plan else None,
    )


def room_for(network: Network, topology: Topology) -> Room:
    """The room that a network has for batches.

    Raises:
        CapacityError: a network that has layers that this machine can't run, or too many weights.
    """
    storage = Storage()
    products, _ = _products(network, tasks_of(plan_operators(network), topology), topology, storage)
    return Room(max(0, topology.unified_buffer.size_bytes - storage.size_bytes), _at_once(products))


def fastest(network: Network, topology: Topology, plans: Sequence[Plan], say: Say) -> Plan:
    """The plan whose program takes the fewest cycles, of equals the first; it knows what the others take.

    Cycles do not depend on data: each program runs without.

    Raises:
        CapacityError: there is no room for any of them; it is the first that says so.
    """
    cycles: dict[tuple[ScheduleStep, ...], int] = {}
    timed_plans: list[tuple[Plan, int]] = []
    lack: list[CapacityError] = []
    for plan in plans:
        say(f"{network.name} on {topology.name}: predicting schedule {plan.schedule}")
        try:
            if plan.steps not in cycles:
                cycles[plan.steps] = timed(compile_network(network, topology, plan=plan))
            timed_plans.append((plan, cycles[plan.steps]))
        except CapacityError as error:
            lack.append(error)
    if not timed_plans:
        raise lack[0]
    best, _ = min(timed_plans, key=lambda plan_cycles: plan_cycles[1])
    return replace(best, predicted=tuple((plan.schedule, count) for plan, count in timed_plans))


def _at_once(products: Mapping[int, Product]) -> frozenset[int]:
    return frozenset(layer for layer, product in products.items() if product.tiles > 1)


def _products(
    network: Network, tasks: Sequence[OperatorTask], topology: Topology, storage: Storage
) -> tuple[dict[int, Product], NDArray[np.uint8]]:
    """All layers with weights, and the bytes of all their tiles; ``storage`` gets whatever else is constant."""
    layouts = {task.layer: layout_of(network, task, topology) for task in tasks if task.weighted}
    _check_weights(network, layouts, topology)
    products: dict[int, Product] = {}
    parts = [np.zeros(0, np.uint8)]
    address = 0
    for task in tasks:
        for op in (task.node.operator, *(node.operator for node in task.followers)):
            if isinstance(op, Table):
                storage.keep(op.entries)
        for tensor in task.stored:
            if tensor.data is not None:
                storage.keep(tensor.data)
        if task.layer in layouts:
            layout = layouts[task.layer]
            product = products[task.layer] = product_of(network, task, layout, address, storage)
            parts.append(tiles(layout.tiling, layout.weights, product.op.weight_zero_point))
            address += layout.size_bytes
    return products, np.concatenate(parts)


def _check_weights(network: Network, layouts: Mapping[int, WeightLayout], topology: Topology) -> None:
    needed, there = sum(layout.size_bytes for layout in layouts.values()), topology.weight_memory.size_bytes
    if needed > there:
        raise CapacityError(
            f"{network.name}: weights must fit the weight memory of {topology.name}: as tiles of its array they take "
            f"{needed:,} bytes, and there are {there:,}"
        )


def _load(segments: Sequence[DataSegment]) -> tuple[Instruction, ...]:
    weights, parameters = segments
    ops = (
        ReadHostMemory(source="data", destination="weight_memory", bytes=weights.data.size, label="weights"),
        ReadHostMemory(source="data", tensor=1, bytes=parameters.data.size, label="parameters"),
    )
    return (*(op for op in ops if op.bytes), Halt(label="loaded"))


def _host_tensors(ends: Sequence[NetworkInput | NetworkOutput], inferences: int) -> tuple[HostTensor, ...]:
    """Those of the first inference first."""
    return tuple(
        HostTensor(**host_fields(end), element=element_of(end.stored.dtype), inference=inference)
        for inference in range(inferences)
        for end in ends
    )


def _layers(plan: ArrayPlan, products: Mapping[int, Product]) -> Iterator[Layer]:
    for number, node in enumerate(plan.network.nodes):
        layer = Layer(node.name, node.kind, macs(plan.network, node), plan.place(number))
        if number in products:
            vectors, cut = products[number].window.positions, products[number].tiling
            inputs, outputs = prod(cut.shape[1:]), cut.shape[0] // cut.groups
            layer = replace(layer, vectors=vectors, inputs=inputs, outputs=outputs, groups=cut.groups)
        yield layer


def _batching(plan: Plan, stream: InstructionStream) -> Batching:
    """A step of the program is a layer with weights and what runs at once behind it."""
    network, constant_bytes = stream.plan.network, stream.storage.size_bytes
    batches = [0] * len(network.nodes)
    for layer, batch in zip(graph_of(network).layers, plan.batches, strict=True):
        batches[layer.node] = batch
    steps: list[Step] = []
    for turn, end, used in zip(stream.turns, stream.ends, stream.placement.bytes_in_use, strict=True):
        if turn.task.weighted:
            steps.append(Step(turn.task.layer, turn.first, turn.count, end, used + constant_bytes))
        elif steps and not turn.early:
            most = max(steps[-1].buffer_bytes, used + constant_bytes)
            steps[-1] = replace(steps[-1], label=end, buffer_bytes=most)
    predicted = tuple(Prediction(*prediction) for prediction in plan.predicted)
    return Batching(plan.schedule, float(plan.weight_reuse), tuple(batches), tuple(steps), predicted)
