"""The compiler: a network and a chip in, a program out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from zlib import crc32

from tilesim.errors import CapacityError, ProgramError
from tilesim.lowering.operator_plan import NetworkInput, axes_of
from tilesim.machines.collecting import without_collector
from tilesim.machines.policies import CachePolicy, Wishes
from tilesim.network.graph import Network, Node, Tensor, macs
from tilesim.tiled.compiler.all_gather import AllGather, staging_name
from tilesim.tiled.compiler.chip_part import early_outputs
from tilesim.tiled.compiler.compute import Pieces, compute
from tilesim.tiled.compiler.feature_map import MapShape, bitmap_of, copy_name, place_name
from tilesim.tiled.compiler.fusion import LayerCall
from tilesim.tiled.compiler.halo import Halo
from tilesim.tiled.compiler.mesh_rows import MeshRows, joins_wide
from tilesim.tiled.compiler.plan import CHUNKS, Planned, plan_parameters
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.records import joined
from tilesim.tiled.compiler.reduction import Reduction, staging_of
from tilesim.tiled.compiler.streaming import ParameterStream
from tilesim.tiled.compiler.tile_plan import TileOutput, TilePlan
from tilesim.tiled.compiler.transfers import drain, feed, host_input, host_output
from tilesim.tiled.compiler.wide_layout import WideLayout
from tilesim.tiled.isa.checks.tensors import covers
from tilesim.tiled.isa.model.fields import flags_of
from tilesim.tiled.isa.model.instructions import ScalarFence, TileFence, program_bytes
from tilesim.tiled.isa.model.program import Layer, Program, Region, TensorLayout, TensorPiece
from tilesim.tiled.link.turns import with_start_fence
from tilesim.tiled.rules.soundness import unsound
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes


@without_collector()
def compile_networks(
    networks: Sequence[Network], topology: Topology, policy: CachePolicy, wishes: Sequence[Wishes] = ()
) -> list[Program]:
    """Compile networks for all tiles of ``topology``: maps are spread over the grid or, where the ``wishes`` for a
    network say so, by channel, fully connected layers by their outputs; activations stay in narrow memory, parameters
    in wide memory, those of all networks side by side. Layers whose maps are too large are made in row bands, several
    layers at a time. Parameters for which there is no room come over the ring while their network runs, from the tile
    that keeps them or from data memory.
    """
    _, programs = planned_programs(networks, topology, policy, wishes)
    token = _token(programs)
    programs = [replace(program, token=token) for program in programs]
    must_be_sound(programs)
    return programs


def must_be_sound(programs: Sequence[Program]) -> None:
    """Prove what is not yet proven.

    Raises:
        ProgramError: what the compiler got wrong.
    """
    named = [(program, f"{program.name} on {program.topology.name}") for program in programs]
    if faults := [f"{name}: {fault}" for program, name in named for fault in unsound(program)]:
        raise ProgramError(faults)


def planned_programs(
    networks: Sequence[Network], topology: Topology, policy: CachePolicy, wishes: Sequence[Wishes] = ()
) -> tuple[Planned, list[Program]]:
    """A plan whose programs instruction memory holds, and these: with parameters cut in fewer sets, or whole, where it
    takes that.
    """
    faults: list[str] = []
    for most_parts in (CHUNKS, CHUNKS // 2, 0):
        with suppress(CapacityError) if faults else nullcontext():
            planned = plan_parameters(networks, topology, policy, wishes, most_parts)
            programs = [_program(*each) for each in planned]
            too_long = [fault for program in programs for fault in _too_long(program)]
            if not too_long:
                return planned, programs
            faults = faults or too_long
    raise CapacityError(faults)


def _too_long(program: Program) -> list[str]:
    """Only the whole program tells how long it is."""
    chip = program.topology
    size, room = program_bytes((*program.load, *program.run)), chip.instruction_memory.size_bytes
    what = f"{program.name}: its program must fit the instruction memory of {chip.name}"
    return [f"{what}: {format_bytes(size)} are needed, of {format_bytes(room)}"] if size > room else []


def _token(programs: Sequence[Program]) -> int:
    """What programs share whose parameters lie side by side, and no others: a hash of those, and of where they stay."""
    token = 0
    for program in programs:
        for part in (repr(program.load).encode(), *(segment.data.tobytes() for segment in program.data)):
            token = crc32(part, token)
    return token


def _program(builder: ProgramBuilder, steps: list[Pieces], wide: WideLayout) -> Program:
    network, plan = builder.plan.network, builder.plan
    stream = ParameterStream(builder, wide)
    builder.first.append(
        TileFence(tiles=(1 << builder.topology.tiles) - 1, reset=flags_of(builder.topology), label="start")
    )
    if builder.mixed:
        stream.precede({piece.key for pieces in steps[:1] for own in pieces.values() for piece in own})
    _feed(builder, wide, 0)
    for source in plan.sources:
        _drain_early(builder, wide, source.stored.index)
    for number, (call, pieces) in enumerate(zip(builder.partition.calls, steps, strict=True), 1):
        stream.advance()
        for tensor in plan.activations(call.node):
            _gather(builder, wide, tensor, call)
        if builder.partition.adds(call.node):
            staging = wide.staging[staging_of(call.node.output)].address
            Reduction(builder, stream, call, pieces, staging).write()
        else:
            compute(builder, stream, call, pieces)
        if call.completes:
            _exchange(builder, wide, call.makes, network.tensors[call.node.output])
            _drain_early(builder, wide, call.node.output)
        _feed(builder, wide, number + 1)
    # What goes through the classifier leaves last: nobody can tell when its reply has passed the sink.
    late = [(number, sink) for number, sink in enumerate(plan.sinks) if not _is_early(plan, sink)]
    for number, sink in sorted(late, key=lambda numbered: numbered[1].classifying is not None):
        drain(builder, number, sink, wide)
    tensors = tuple(_layouts(builder))
    readable = {tensor.index for tensor in tensors}
    return Program(
        name=network.name,
        topology=builder.topology,
        load=joined(wide.load(), builder.topology),
        run=joined(with_start_fence(builder.run, builder.topology), builder.topology),
        data=wide.data(),
        inputs=tuple(host_input(builder, source) for source in _in_turn(builder)),
        outputs=tuple(host_output(builder, sink) for sink in plan.sinks),
        layers=tuple(_layer(builder, wide, k, node) for k, node in enumerate(network.nodes)),
        partition=builder.partition.wishes.default,
        tensors=tensors,
        pieces=tuple(piece for piece in builder.pieces if piece.index in readable),
        regions=(*_narrow_regions(builder), *wide.regions()),
    )


def _in_turn(builder: ProgramBuilder) -> list[NetworkInput]:
    """The network's inputs in the order in which they come."""

    def first(source: NetworkInput) -> int:
        return builder.placement.lifetimes[builder.partition.maps_of(source.stored.index)[0]].first

    return sorted(builder.plan.sources, key=first)


def _is_early(plan: TilePlan, sink: TileOutput) -> bool:
    """Whether the host makes something for the tiles of an output."""
    return sink.model.index in early_outputs(plan.network)


def _drain_early(builder: ProgramBuilder, wide: WideLayout, index: int) -> None:
    """Let go out what the host needs of a stored tensor before all is computed. A classifier's reply holds what follows
    until it has left: nobody can tell when it has passed the sink.
    """
    for number, sink in enumerate(builder.plan.sinks):
        if sink.stored.index == index and _is_early(builder.plan, sink):
            drain(builder, number, sink, wide)
            if sink.classifying is not None:
                builder.rest.append(ScalarFence(count=0, idle=("outfeed",), label=f"output{number}.left"))


def _layer(builder: ProgramBuilder, wide: WideLayout, number: int, node: Node) -> Layer:
    plan = builder.plan
    place, spread = plan.place(number), builder.partition.spreads.get(node.output)
    layer = Layer(
        node.name,
        node.kind,
        macs(plan.network, node),
        place,
        bands=_bands(builder, number),
        parameters=" and ".join(wide.homes(number)),
    )
    if spread is None or place != "tiles":
        return layer
    cut = builder.partition.made(node).cut()
    return replace(layer, spread=spread.choice, reason=spread.reason, cut=cut)


def _bands(builder: ProgramBuilder, layer: int) -> int:
    """In how many bands of rows a layer is made."""
    groups = (fused.group for fused in builder.partition.fused)
    bands = (group.bands for group in groups for step in group.steps if builder.plan.steps[step - 1][0] == layer)
    return next(bands, 1)


def _feed(builder: ProgramBuilder, wide: WideLayout, call: int) -> None:
    """Let come in what of the network's inputs is there from a call on."""
    coming = [
        (source, band, name)
        for source in builder.plan.sources
        for band, name in enumerate(builder.partition.maps_of(source.stored.index))
        if builder.placement.lifetimes[name].first == call
    ]
    for source, band, _ in coming:
        feed(builder, source, band, wide, _reader(builder.plan, source.stored))
    for source, _, name in coming:
        _exchange(builder, wide, name, source.stored)


def _gather(builder: ProgramBuilder, wide: WideLayout, tensor: Tensor, call: LayerCall) -> None:
    """Copy an input to all who read it whole, before the first of them does."""
    copy = copy_name(tensor.index)
    if call.reads[tensor.index] != copy or copy in builder.completions:
        return
    address = wide.staging[staging_name(builder.partition, tensor.index)].address
    AllGather(builder, tensor.index, address, call.layer).write()
    _fill(builder, wide, copy, tensor, call.layer)


def _exchange(builder: ProgramBuilder, wide: WideLayout, name: str, tensor: Tensor) -> None:
    """Let the neighbours of a map's parts have what they need of it."""
    _fill(builder, wide, name, tensor, _reader(builder.plan, tensor))


def _fill(builder: ProgramBuilder, wide: WideLayout, name: str, tensor: Tensor, layer: int) -> None:
    zero_point = tensor.quantisation.zero_point if tensor.quantisation else 0
    step = builder.steps.get(name, 1)
    rows = MeshRows(builder, wide.staging) if joins_wide(builder.topology) else None
    Halo(builder, name, zero_point, layer, above_last=step > 0, step=step, rows=rows).write()


def _reader(plan: TilePlan, tensor: Tensor) -> int:
    """The first layer that reads a tensor, or -1."""
    return next((layer for layer, node in plan.steps if tensor in plan.activations(node)), -1)


def _layouts(builder: ProgramBuilder) -> Iterator[TensorLayout]:
    """The tensors that can be read out: those of which layers with strides leave nothing out."""
    pieces: dict[int, list[TensorPiece]] = {}
    for piece in builder.pieces:
        pieces.setdefault(piece.index, []).append(piece)
    for index in sorted(pieces):
        layout = _layout(builder, index)
        if covers(layout, pieces[index]):
            yield layout


def _layout(builder: ProgramBuilder, index: int) -> TensorLayout:
    """A reshaped tensor is that whose bytes it shares, folded otherwise: in the model's order of axes, not in ours."""
    tensor, stored = builder.plan.network.tensors[index], builder.plan.stored(index)
    shape = MapShape.of(stored.shape)
    axes = axes_of(stored) if len(stored.shape) == 4 else (0, 1, 2, 3)
    return TensorLayout(index, tensor.name, (shape.height, shape.width, shape.channels), axes, tensor.model_shape)


def _narrow_regions(builder: ProgramBuilder) -> list[Region]:
    """The places of maps: that of a tensor's bands is as large as the largest of them."""
    regions: dict[str, Region] = {}
    for name, map_ in builder.placement.maps.items():
        place, tiles = place_name(name), bitmap_of(map_.held)
        before = regions.get(place, Region(place, "narrow", 0, map_.address, 0))
        size = max(before.bytes, map_.size_bytes)
        regions[place] = Region(place, "narrow", before.tiles | tiles, map_.address, size)
    return list(regions.values())
