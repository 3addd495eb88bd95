"""What compiling decides before a program is written: tensorops, places, and where parameters live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from itertools import count, groupby, zip_longest
from math import prod
from operator import or_
from typing import TypeAlias

from msgspec import structs

from tilesim.errors import CapacityError
from tilesim.machines.policies import SPATIAL, CachePolicy, Wishes
from tilesim.network.graph import Network
from tilesim.network.operators import Convolution, DepthwiseConvolution, FullyConnected
from tilesim.tiled.compiler.all_gather import staging_rows_of_copies
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.chip_part import has_bands
from tilesim.tiled.compiler.chunks import SetLimit
from tilesim.tiled.compiler.compute import SUMS, Pieces, lowered
from tilesim.tiled.compiler.estimate import fastest, is_long
from tilesim.tiled.compiler.feature_map import bitmap_of, padded
from tilesim.tiled.compiler.fitting import fitted
from tilesim.tiled.compiler.lower.convolution import block_weight_bytes
from tilesim.tiled.compiler.lower.partial_sums import sum_accesses, sum_bytes
from tilesim.tiled.compiler.mesh_rows import staging_rows_of_edges
from tilesim.tiled.compiler.parameter_ways import check_ways
from tilesim.tiled.compiler.parameters import ParameterSets, SetKey
from tilesim.tiled.compiler.partition import DEFAULT
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.reduction import lowered_reduction, staging_rows_of_sums
from tilesim.tiled.compiler.tile_plan import plan_operators
from tilesim.tiled.compiler.transfers import places_in, places_out, staging_rows
from tilesim.tiled.compiler.weight_residency import Needs, all_stay, some_stream
from tilesim.tiled.compiler.wide_layout import WideLayout
from tilesim.tiled.isa.model.fields import bits
from tilesim.tiled.topology import Topology

Planned: TypeAlias = list[tuple[ProgramBuilder, list[Pieces], WideLayout]]
Way: TypeAlias = tuple[list[ProgramBuilder], bool]
"""The networks, cut in some way, and whether depthwise layers make several pixels side by side."""

CHUNKS = 8
"""Parameters that don't stay come in sets of at most this part of wide memory, if a block of lanes needs no more: there
is room then for one in use, one on its way and many that stay.
"""

CROWDED = 4
"""A block of lanes takes much of a tile's wide memory if so many don't fit."""


def plan_parameters(
    networks: Sequence[Network],
    topology: Topology,
    policy: CachePolicy,
    wishes: Sequence[Wishes] = (),
    most_parts: int = CHUNKS,
) -> Planned:
    """Lower networks, call by call, and decide where their parameters live: whole layers, all of them in the tiles, if
    that can be; else layers in runs of their outputs. Where some then come from data memory, or have no room, other
    ways are tried, too, and that with the fewest cycles is taken: without weights for several pixels side by side,
    which take more room, first in depthwise layers, then in all; with sets cut along the inputs, which take less, but
    more instructions: of a part in ``most_parts`` of wide memory, or not at all if that is 0. What fits in no such way
    is cut over rows and columns alone.
    """
    check_ways(policy, topology)
    asked = list(wishes or [DEFAULT] * len(networks))
    plain = [replace(own, default=SPATIAL) if own.mixed else own for own in asked]
    for cut in (asked, plain) if plain != asked else (asked,):
        if plans := _plans(networks, topology, policy, cut, most_parts):
            return min(plans, key=_cycles)[1]
    return _plan(_builders(networks, topology, plain), policy, _whole(topology), side_by_side=False)  # raises why


def _plans(
    networks: Sequence[Network], topology: Topology, policy: CachePolicy, asked: Sequence[Wishes], most_parts: int
) -> list[tuple[Way, Planned]]:
    """Those that fit: whole blocks of lanes in every way, until nothing comes from data memory; cut along the inputs
    in the fastest of them, with sums of no more than a set; with any sums for networks that have no room otherwise.
    Nothing is gained by whole blocks where the chip is crowded.
    """

    def fitting(limit: SetLimit) -> list[tuple[Way, Planned]]:
        return _fitting(_ways(networks, topology, asked), policy, limit)

    whole, wide_bytes = _whole(topology), topology.wide_memory.size_bytes
    cut_first = most_parts and _crowded(networks, topology)
    plans = [] if cut_first else fitting(whole)
    if most_parts and (not plans or _streams(plans[-1][1])):
        ways = [min(plans, key=_cycles)[0]] if plans else _ways(networks, topology, asked)
        plans += _fitting(ways, policy, SetLimit(wide_bytes // most_parts, wide_bytes // most_parts))
    plans = plans or (fitting(whole) if cut_first else [])
    return plans or fitting(structs.replace(whole, most_sum_bytes=wide_bytes))


def _crowded(networks: Sequence[Network], topology: Topology) -> bool:
    """Whether weights take twice what there is in all tiles, and a block of lanes of some layer much of one tile: two
    such blocks, of which one streams while the other is in use, leave little room for what could stay.
    """
    tile, wide_bytes = topology.tile, topology.wide_memory.size_bytes
    layers = [
        (weights, getattr(node.operator, "groups", 1))
        for network in networks
        for node in network.nodes
        if isinstance(node.operator, Convolution | FullyConnected)
        if (weights := network.tensors[node.inputs[1]].data) is not None
    ]
    if sum(weights.nbytes for weights, _ in layers) <= 2 * topology.tiles * wide_bytes:
        return False
    most = max(block_weight_bytes(weights.shape, groups, tile) for weights, groups in layers)
    return most * CROWDED > wide_bytes


def _whole(topology: Topology) -> SetLimit:
    """Sets that need no partial sums."""
    return SetLimit(topology.wide_memory.size_bytes // CHUNKS)


def _fitting(ways: Iterable[Way], policy: CachePolicy, limit: SetLimit) -> list[tuple[Way, Planned]]:
    """The ways that fit, up to the first by which nothing comes from data memory."""
    plans: list[tuple[Way, Planned]] = []
    for builders, side_by_side in ways:
        with suppress(CapacityError):
            planned = _plan(builders, policy, limit, side_by_side=side_by_side)
            plans.append(((builders, side_by_side), planned))
            if not _streams(planned):
                break
    return plans


def _ways(networks: Sequence[Network], topology: Topology, asked: Sequence[Wishes]) -> Iterator[Way]:
    """Cuts as asked that fit, and whether depthwise layers make several pixels at once; in the last, no layer does.
    Ways in which nothing would change are left out.
    """
    mixed = any(own.mixed for own in asked)
    narrow = [replace(own, side_by_side=False) for own in asked]
    with suppress(CapacityError):
        builders = _builders(networks, topology, asked)
        both = mixed and any(map(_has_depthwise, builders))
        yield from ((builders, side_by_side) for side_by_side in ((True, False) if both else (False,)))
        mixed = any(map_.pixels > 1 for builder in builders for map_ in builder.placement.maps.values())
    if mixed and narrow != asked:
        with suppress(CapacityError):
            yield _builders(networks, topology, narrow), False


def _has_depthwise(builder: ProgramBuilder) -> bool:
    """Among the steps, of which some may have been made of other layers: of resizes, of what is broadcast."""
    return any(isinstance(node.operator, DepthwiseConvolution) for _, node in builder.plan.steps)


def _builders(networks: Sequence[Network], topology: Topology, wishes: Sequence[Wishes]) -> list[ProgramBuilder]:
    return [_builder(network, topology, own) for network, own in zip(networks, wishes, strict=True)]


def _plan(builders: Sequence[ProgramBuilder], policy: CachePolicy, limit: SetLimit, *, side_by_side: bool) -> Planned:
    """Whole layers, if all of them stay; that has been tried before sets are cut along their inputs."""
    layouts = None
    if not limit.most_sum_bytes and all(map(_may_stay, builders)):
        networks_lowered = [_lowered(builder, None, side_by_side) for builder in builders]
        layouts = all_stay([needs for _, needs in networks_lowered], policy)
    if layouts is None:
        networks_lowered = [_lowered(builder, limit, side_by_side) for builder in builders]
        layouts = some_stream([needs for _, needs in networks_lowered], policy)
    return list(zip(builders, (steps for steps, _ in networks_lowered), layouts, strict=True))


def _may_stay(builder: ProgramBuilder) -> bool:
    """Whether the tiles have room for the weights, at least, of which each of them needs all."""
    network, copies = builder.plan.network, [0] * builder.topology.tiles
    layers = {
        call.node.inputs[1:2] or (call.layer,): call
        for call in builder.partition.calls
        if not builder.placement.maps[call.makes].block
    }
    for call in layers.values():
        constants = [network.tensors[index].data for index in call.node.inputs[1:2]]
        for tile in bits(call.tiles):
            copies[tile] += sum(data.nbytes for data in constants if data is not None)
    return max(copies) <= builder.topology.wide_memory.size_bytes


def _streams(planned: Planned) -> bool:
    """Whether parameters come from data memory in every inference."""
    return any(layout.streamed_cycles for _, _, layout in planned)


def _cycles(plan: tuple[Way, Planned]) -> float:
    """About how long inferences take, each as long as its tensorops, or as data memory for what comes from there."""
    _, planned = plan
    return sum(
        max(_issue_cycles(steps).total() + _sum_accesses(steps), layout.streamed_cycles) for _, steps, layout in planned
    )


def _sum_accesses(steps: list[Pieces]) -> int:
    """How many rows of sums the first tile of each call that makes some reads and writes."""
    return sum(sum_accesses(piece.op) for pieces in steps for piece in next(iter(pieces.values())))


def _chip_faults(topology: Topology) -> Iterator[str]:
    """What the compiler can't make use of."""
    if topology.ring.no_consumer != "stall":
        yield (
            "ring.no_consumer must be stall for compiled programs, whose rows may come before their consumer is "
            f"posted, not {topology.ring.no_consumer}"
        )


def _builder(network: Network, topology: Topology, wishes: Wishes) -> ProgramBuilder:
    word_bytes = topology.narrow_memory.word_bytes
    if faults := [f"{topology.name}: {fault}" for fault in _chip_faults(topology)]:
        raise CapacityError(faults)
    plan = plan_operators(network, word_bytes, absorbs=wishes.mixed)
    builders, too_large = [], None
    for grid in grids(topology, wishes):
        if not grid.order or is_long(plan, grid) or has_bands(network):
            try:
                builders.append(ProgramBuilder(topology, plan, *fitted(plan, topology, wishes, grid)))
            except CapacityError as error:
                too_large = too_large or error
    if too_large and not builders:
        raise too_large
    return fastest(builders) if builders[1:] else builders[0]


def grids(topology: Topology, wishes: Wishes) -> list[Arrangement]:
    """Those over which maps may be cut, the chip's own first."""
    snakes = Arrangement.snakes(topology.grid) if wishes.mixed else ()
    return [Arrangement.plain(topology.grid), *snakes]


def _lowered(builder: ProgramBuilder, limit: SetLimit | None, side_by_side: bool) -> tuple[list[Pieces], Needs]:
    """The tensorops of each call, and what they need of wide memory."""
    sets = ParameterSets(builder.topology.wide_memory.row_bytes, shared=has_bands(builder.plan.network))
    steps = [
        lowered_reduction(builder, sets, call)
        if builder.partition.adds(call.node)
        else lowered(builder, sets, call, limit, side_by_side=side_by_side)
        for call in builder.partition.calls
    ]
    name, staging = builder.plan.network.name, dict(_staging(builder))
    uses, cycles = _uses(steps, sets), _issue_cycles(steps)
    staging |= _sums(builder, steps)
    return steps, Needs(name, builder.topology, sets, uses, cycles, staging, roomy=builder.mixed)


def _uses(steps: list[Pieces], sets: ParameterSets) -> dict[SetKey, range]:
    """From which round of tensorops to which each set is used."""
    uses: dict[SetKey, range] = {}
    known, rounds = frozenset(sets.keys()), count()
    for pieces in steps:
        for kth in zip_longest(*pieces.values()):
            now = next(rounds)
            for key in (piece.key for piece in kth if piece and piece.key in known):
                uses[key] = range(uses[key].start if key in uses else now, now + 1)
    return uses


def _issue_cycles(steps: list[Pieces]) -> Counter[SetKey]:
    """How long the first tile that does computes with each set."""
    cycles: Counter[SetKey] = Counter()
    for pieces in steps:
        for key, ops in groupby(next(iter(pieces.values())), lambda piece: piece.key):
            cycles[key] += sum(prod(loop.bound for loop in piece.op.nest.loops[:-1]) for piece in ops)
    return cycles


def _sums(builder: ProgramBuilder, steps: list[Pieces]) -> dict[str, tuple[int, int]]:
    """Bytes in wide memory for partial sums, if there are any, and in which tiles."""
    row_bytes = builder.topology.wide_memory.row_bytes
    sizes = {
        (padded(sum_bytes(piece.op, row_bytes), row_bytes), tile)
        for pieces in steps
        for tile, own in pieces.items()
        for piece in own
        if piece.sums == SUMS
    }
    tiles = bitmap_of(sorted({tile for size, tile in sizes if size}))
    return {SUMS: (max(size for size, _ in sizes), tiles)} if tiles else {}


def _staging(builder: ProgramBuilder) -> Iterator[tuple[str, tuple[int, int]]]:
    """Bytes in wide memory for each tensor that crosses the ring, and in which tiles."""
    row_bytes, maps = builder.topology.wide_memory.row_bytes, builder.placement.maps
    ends = [(name, source.stored) for name, source in zip(places_in(builder.plan), builder.plan.sources, strict=True)]
    ends += [(name, sink.stored) for name, sink in zip(places_out(builder.plan), builder.plan.sinks, strict=True)]
    by_place: dict[str, tuple[int, int]] = {}
    for name, stored in ends:
        bands = [maps[band] for band in builder.partition.maps_of(stored.index)]
        rows = staging_rows(bands, row_bytes) * min(2, len(bands))  # bands take turns in two places
        size, tiles = by_place.get(name, (0, 0))
        by_place[name] = max(size, rows * row_bytes), reduce(or_, (map_.tiles for map_ in bands), tiles)
    yield from by_place.items()
    copies = staging_rows_of_copies(builder.partition, maps, row_bytes)
    for name, (rows, tiles) in (copies | staging_rows_of_sums(builder.partition)).items():
        yield name, (rows * row_bytes, tiles)
    for name, rows in staging_rows_of_edges(builder).items():
        yield name, (rows * row_bytes, (1 << builder.topology.tiles) - 1)
