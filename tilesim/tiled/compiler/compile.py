"""The compiler: a network and a chip in, a program out."""

from __future__ import annotations

from tilesim.errors import CapacityError, ProgramError
from tilesim.network.graph import Network, Node, Tensor, macs
from tilesim.tiled.compiler.compute import compute, lowered
from tilesim.tiled.compiler.draft import Draft
from tilesim.tiled.compiler.feature_map import bitmap_of
from tilesim.tiled.compiler.gather import Gather, gather_rows
from tilesim.tiled.compiler.halo import Halo
from tilesim.tiled.compiler.host_tensors import axes_of, host_input, host_output, reply
from tilesim.tiled.compiler.outline import Outline, Sink, outline
from tilesim.tiled.compiler.partition import copy_name, map_name, partition
from tilesim.tiled.compiler.placement import place
from tilesim.tiled.compiler.transfers import blocks_of, drain, feed, staging_rows
from tilesim.tiled.compiler.wide_layout import WideLayout
from tilesim.tiled.isa.check import faults
from tilesim.tiled.isa.fields import Flag
from tilesim.tiled.isa.instructions import TensorOp, TileFence
from tilesim.tiled.isa.program import HostTensor, Layer, Program, Region, TensorLayout
from tilesim.tiled.rules.hazards import hazards
from tilesim.tiled.rules.regions import strays
from tilesim.tiled.topology import Topology

Steps = list[dict[int, list[TensorOp]]]


def compile_network(network: Network, topology: Topology) -> Program:
    """Compile ``network`` for all tiles of ``topology``: maps are spread over the grid, fully connected layers by their
    outputs; parameters stay in wide memory, activations in narrow memory.

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
    plan = outline(network, word_bytes)
    spread = partition(plan, topology)
    draft = Draft(topology, plan, spread, place(spread, topology))
    wide = WideLayout(network.name, topology)
    program = _program(draft, wide, [lowered(draft, wide, layer, node) for layer, node in plan.steps])
    found = faults(program) or [*strays(program), *hazards(program)]
    if found:
        raise ProgramError(f"{network.name} on {topology.name}: {fault}" for fault in found)
    return program


def _program(draft: Draft, wide: WideLayout, steps: Steps) -> Program:
    network, plan = draft.plan.network, draft.plan
    draft.first.append(TileFence(tiles=(1 << draft.topology.tiles) - 1, reset=tuple(Flag), label="start"))
    _feed(draft, wide)
    for (layer, node), ops in zip(plan.steps, steps, strict=True):
        for tensor in plan.activations(node):
            _gather(draft, wide, tensor, node, layer)
        compute(draft, layer, node, ops)
        _exchange(draft, network.tensors[node.output])
    # What goes through the classifier leaves last: nobody can tell when its reply has passed the sink.
    for number, sink in sorted(enumerate(plan.sinks), key=lambda each: each[1].softmax is not None):
        drain(draft, number, sink, _staging(draft, wide, sink.stored))
    row_bytes = draft.topology.wide_memory.row_bytes
    maps = draft.placement.maps
    stored = [maps[map_name(source.stored.index)] for source in plan.sources]
    return Program(
        name=network.name,
        topology=draft.topology,
        load=wide.load(),
        run=draft.run,
        data=wide.data(),
        inputs=tuple(
            host_input(source, map_.shape, blocks_of(map_, row_bytes))
            for source, map_ in zip(plan.sources, stored, strict=True)
        ),
        outputs=tuple(_output(draft, sink) for sink in plan.sinks),
        layers=tuple(Layer(node.name, node.kind, macs(network, node)) for node in network.nodes),
        tensors=_layouts(draft),
        pieces=tuple(draft.pieces),
        regions=(*_narrow_regions(draft), *wide.regions()),
    )


def _feed(draft: Draft, wide: WideLayout) -> None:
    """Let the network's inputs come in."""
    for source in draft.plan.sources:
        feed(draft, source, _staging(draft, wide, source.stored), _reader(draft.plan, source.stored))
    for source in draft.plan.sources:
        _exchange(draft, source.stored)


def _staging(draft: Draft, wide: WideLayout, stored: Tensor) -> int:
    """Where the wide rows begin through which a tensor's parts come in or go out."""
    map_ = draft.placement.maps[map_name(stored.index)]
    rows = staging_rows(map_, draft.topology.wide_memory.row_bytes)
    return wide.stage(stored.title, rows, map_.tiles)


def _gather(draft: Draft, wide: WideLayout, tensor: Tensor, node: Node, layer: int) -> None:
    """Copy an input to all who read it whole, before the first of them does."""
    copy, map_ = copy_name(tensor.index), draft.placement.maps[map_name(tensor.index)]
    if draft.spread.read(node, tensor) != copy or copy in draft.made:
        return
    rows = gather_rows(map_, draft.topology.wide_memory.row_bytes)
    tiles = map_.tiles | draft.placement.maps[copy].tiles
    Gather(draft, tensor.index, wide.stage(tensor.title, rows, tiles), layer).write()
    _fill(draft, copy, tensor, layer)


def _exchange(draft: Draft, tensor: Tensor) -> None:
    """Let the neighbours of a map's parts have what they need of it."""
    _fill(draft, map_name(tensor.index), tensor, _reader(draft.plan, tensor))


def _fill(draft: Draft, name: str, tensor: Tensor, layer: int) -> None:
    zero_point = tensor.quantisation.zero_point if tensor.quantisation else 0
    step = draft.steps.get(name, 1)
    Halo(draft, name, zero_point, layer, late=step > 0, step=step).write()


def _reader(plan: Outline, tensor: Tensor) -> int:
    """The first layer that reads a tensor, or -1."""
    return next((layer for layer, node in plan.steps if tensor in plan.activations(node)), -1)


def _output(draft: Draft, sink: Sink) -> HostTensor:
    map_, row_bytes = draft.placement.maps[map_name(sink.stored.index)], draft.topology.wide_memory.row_bytes
    blocks = blocks_of(map_, row_bytes) if sink.softmax is None else reply(map_.shape, row_bytes)
    return host_output(sink, map_.shape, blocks)


def _layouts(draft: Draft) -> tuple[TensorLayout, ...]:
    return tuple(_layout(draft, index) for index in sorted({piece.index for piece in draft.pieces}))


def _layout(draft: Draft, index: int) -> TensorLayout:
    """A reshaped tensor is that whose bytes it shares, folded otherwise: in the model's order of axes, not in ours."""
    tensor, stored = draft.plan.network.tensors[index], draft.plan.stored(index)
    shape = draft.placement.maps[map_name(stored.index)].shape
    axes = axes_of(stored) if len(stored.shape) == 4 else (0, 1, 2, 3)
    return TensorLayout(index, tensor.name, (shape.height, shape.width, shape.channels), axes, tensor.model_shape)


def _narrow_regions(draft: Draft) -> list[Region]:
    return [
        Region(name, "narrow", bitmap_of(map_.held()), map_.address, map_.size_bytes)
        for name, map_ in draft.placement.maps.items()
    ]
