"""The compiler: a network and a chip in, a program out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from tilesim.errors import CapacityError, ProgramError
from tilesim.network.graph import Network, Node, macs
from tilesim.network.operators.add import Add
from tilesim.network.operators.average_pool import AveragePool
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.rescale import Rescale
from tilesim.tiled.compiler.borders import fill_borders
from tilesim.tiled.compiler.draft import Draft
from tilesim.tiled.compiler.host_tensors import axes_of, host_input, host_output
from tilesim.tiled.compiler.lower.add import lower_add
from tilesim.tiled.compiler.lower.convolution import lower_convolution, lower_fully_connected
from tilesim.tiled.compiler.lower.depthwise import lower_depthwise
from tilesim.tiled.compiler.lower.pool import lower_average_pool, lower_max_pool, lower_rescale
from tilesim.tiled.compiler.outline import outline
from tilesim.tiled.compiler.placement import place
from tilesim.tiled.compiler.rows import rows_for
from tilesim.tiled.compiler.task import Task, element_type
from tilesim.tiled.compiler.transfers import drain, feed
from tilesim.tiled.compiler.wide_layout import WideLayout
from tilesim.tiled.isa.check import faults
from tilesim.tiled.isa.fields import Flag
from tilesim.tiled.isa.instructions import TensorOp, TileFence
from tilesim.tiled.isa.program import Layer, Program, Region, TensorLayout
from tilesim.tiled.rules.hazards import hazards
from tilesim.tiled.rules.regions import strays
from tilesim.tiled.topology import Topology

LOWERINGS: dict[type[Any], Callable[..., list[TensorOp]]] = {
    Convolution: lower_convolution,
    DepthwiseConvolution: lower_depthwise,
    FullyConnected: lower_fully_connected,
    Add: lower_add,
    AveragePool: lower_average_pool,
    MaxPool: lower_max_pool,
    Rescale: lower_rescale,
}

FIRST_TILE = 0b1


def compile_network(network: Network, topology: Topology) -> Program:
    """Compile ``network`` for the first tile of ``topology``: parameters in wide memory, activations in narrow memory.

    Raises:
        CapacityError: the network does not fit, or has layers that this machine can't run.
        ProgramError: the chip is too small for an instruction that the network needs.
    """
    vector_bytes, word_bytes = topology.tile.vector_bytes, topology.narrow_memory.word_bytes
    if vector_bytes != word_bytes:
        raise CapacityError(
            f"{topology.name}: tile.vector_bytes must be narrow_memory.word_bytes {word_bytes} for compiled programs, "
            f"whose vector layers write whole words, not {vector_bytes}"
        )
    plan = outline(network, topology.narrow_memory.word_bytes)
    draft = Draft(topology, plan, place(plan, topology), FIRST_TILE)
    wide = WideLayout(network.name, topology, FIRST_TILE)
    program = _program(draft, wide, [_lowered(draft, wide, layer, node) for layer, node in plan.steps])
    found = faults(program) or [*strays(program), *hazards(program)]
    if found:
        raise ProgramError(found)
    return program


def _program(draft: Draft, wide: WideLayout, steps: list[list[TensorOp]]) -> Program:
    network, plan, row_bytes = draft.plan.network, draft.plan, draft.topology.wide_memory.row_bytes
    draft.write(TileFence(tiles=draft.tiles, reset=tuple(Flag), label="start"))
    for source in plan.sources:
        feed(draft, source, wide.stage(source.stored.title, rows_for(draft.map_of(source.stored), row_bytes)))
    for step, ((_, node), ops) in enumerate(zip(plan.steps, steps, strict=True), 1):
        fill_borders(draft, network.tensors[node.output], step)
        draft.compute(plan.activations(node), network.tensors[node.output], ops)
    for number, sink in enumerate(plan.sinks):
        drain(draft, number, sink, wide.stage(sink.stored.title, rows_for(draft.map_of(sink.stored), row_bytes)))
    return Program(
        name=network.name,
        topology=draft.topology,
        load=wide.load(),
        run=tuple(draft.run),
        data=wide.data(),
        inputs=tuple(host_input(source, draft.map_of(source.stored), row_bytes) for source in plan.sources),
        outputs=tuple(host_output(sink, draft.map_of(sink.stored), row_bytes) for sink in plan.sinks),
        layers=tuple(Layer(node.name, node.kind, macs(network, node)) for node in network.nodes),
        tensors=_layouts(draft),
        pieces=tuple(draft.pieces),
        regions=(*_narrow_regions(draft), *wide.regions),
    )


def _lowered(draft: Draft, wide: WideLayout, layer: int, node: Node) -> list[TensorOp]:
    """The tensorops of a node; its parameters get their places in wide memory."""
    ops = LOWERINGS[type(node.operator)](_task(draft, wide, layer, node), node.operator)
    names = [f"{node.kind}{layer}"] if len(ops) == 1 else [f"{node.kind}{layer}.{k}" for k in range(len(ops))]
    return [replace(op, label=name) for op, name in zip(ops, names, strict=True)]


def _task(draft: Draft, wide: WideLayout, layer: int, node: Node) -> Task:
    tensors = draft.plan.activations(node)
    network = draft.plan.network
    output = network.tensors[node.output]
    constants = (network.tensors[i].data for i in node.inputs)
    return Task(
        topology=draft.topology,
        tiles=draft.tiles,
        layer=layer,
        inputs=tuple(draft.map_of(tensor) for tensor in tensors),
        output=draft.map_of(output),
        constants=tuple(constant for constant in constants if constant is not None),
        input_type=element_type(tensors[0].dtype),
        output_type=element_type(output.dtype),
        keep=partial(wide.keep, node.title),
    )


def _layouts(draft: Draft) -> tuple[TensorLayout, ...]:
    return tuple(_layout(draft, index) for index in sorted({piece.index for piece in draft.pieces}))


def _layout(draft: Draft, index: int) -> TensorLayout:
    """A reshaped tensor is that whose bytes it shares, folded otherwise: in the model's order of axes, not in ours."""
    tensor, stored = draft.plan.network.tensors[index], draft.plan.stored(index)
    shape = draft.map_of(stored).shape
    axes = axes_of(stored) if len(stored.shape) == 4 else (0, 1, 2, 3)
    return TensorLayout(index, tensor.name, (shape.height, shape.width, shape.channels), axes, tensor.model_shape)


def _narrow_regions(draft: Draft) -> list[Region]:
    return [
        Region(f"tensor{index}", "narrow", draft.tiles, map_.address, map_.size_bytes)
        for index, map_ in draft.placement.maps.items()
    ]
