"""Networks compiled with runs of layers in bands, where their maps don't fit otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from msgspec import Struct

from tilesim.errors import CapacityError
from tilesim.machines.options import CompileOptions
from tilesim.machines.policies import Wishes
from tilesim.network.graph import Network, macs
from tilesim.tiled.banding.choose import RunSearch, Way
from tilesim.tiled.banding.rewrite import BandedNetwork, with_bands
from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.feature_map import MapShape
from tilesim.tiled.compiler.fitting import fitted
from tilesim.tiled.compiler.host_split import HostSplit, split
from tilesim.tiled.compiler.plan import grids
from tilesim.tiled.compiler.tile_plan import plan_operators
from tilesim.tiled.isa.checks.tensors import covers
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Layer, Program, TensorLayout, TensorPiece
from tilesim.tiled.topology import Topology

SHARES = (16, 14, 12)
"""How many sixteenths of the memory runs may fill by estimate: places are not found for all that adds up."""
Compile = Callable[[Sequence[HostSplit], CompileOptions], list[Program]]
"""Compiles networks, each in the chip's part and the host's."""


class BandedSplit(Struct, frozen=True):
    """A ``plain`` network, the same with runs of layers in bands, and what of that the host computes."""

    plain: HostSplit
    banded: BandedNetwork
    split: HostSplit
    grid: Arrangement


def compiled_in_bands(
    plain: Sequence[HostSplit], topology: Topology, options: CompileOptions, compile_: Compile
) -> list[Program]:
    """The programs of networks with runs of layers in bands: the fewest cycles by estimate first.

    Raises:
        CapacityError: none fits: what is too large of that with the fewest layers for which all maps have room, if
        there is one.
    """
    tried: list[str] = []
    faults: list[tuple[int, tuple[str, ...]]] = []
    for ways in _ways(plain, topology, options):
        what = _described(ways)
        if what in tried:
            continue
        tried.append(what)
        if not _have_room(ways, topology, options):
            continue
        options.say(f"trying {what}")
        try:
            programs = compile_([way.split for way in ways], _of_bands(options, ways))
        except CapacityError as error:
            faults.append((sum(len(way.split.part.nodes) for way in ways), error.faults))
        else:
            return [of_layers(program, way) for program, way in zip(programs, ways, strict=True)]
    raise CapacityError([f"{fault}, in bands of rows" for fault in min(faults)[1]] if faults else [])


def _ways(plain: Sequence[HostSplit], topology: Topology, options: CompileOptions) -> Iterator[list[BandedSplit]]:
    """Runs for each network, for which tiles have room by estimate; then such that leave more of it."""
    asked = [options.partition.wishes(number, each.part) for number, each in enumerate(plain)]
    for share in SHARES:
        capacity = topology.narrow_memory.size_bytes * share // SHARES[0]
        found: list[list[Way]] = []
        for each, wishes in zip(plain, asked, strict=True):
            across = [grid for grid in grids(topology, wishes) if grid.columns > 1 or not grid.order]
            searches = [RunSearch(each, topology, wishes, capacity, grid) for grid in across]  # rows are cut as it is
            found.append(sorted((way for search in searches if (way := search.best())), key=lambda way: way.cycles))
        if not all(found):
            return
        for turn in range(max(map(len, found))):
            ways = [own[min(turn, len(own) - 1)] for own in found]
            if any(way.runs for way in ways):
                every = zip(plain, ways, asked, strict=True)
                yield [_banded(each, way, topology, wishes) for each, way, wishes in every]


def _have_room(ways: Sequence[BandedSplit], topology: Topology, options: CompileOptions) -> bool:
    """Whether all maps find places: quicker than to compile in vain."""
    word_bytes = topology.narrow_memory.word_bytes
    try:
        for way in ways:
            wishes = Wishes(options.partition.default)
            fitted(plan_operators(way.split.part, word_bytes, absorbs=wishes.mixed), topology, wishes, way.grid)
    except CapacityError:
        return False
    return True


def _banded(plain: HostSplit, way: Way, topology: Topology, wishes: Wishes) -> BandedSplit:
    banded = with_bands(plain.whole, way.runs)
    return BandedSplit(
        plain, banded, split(banded.network, topology.narrow_memory.word_bytes, wishes, banded.cuts), way.grid
    )


def _described(ways: Sequence[BandedSplit]) -> str:
    """What is tried, in a few words."""
    runs = [(way.plain.whole, run) for way in ways for run in way.banded.runs]
    return ", ".join(
        f"{network.name}: layers {run.layers[0]} to {run.layers[-1]} in {run.bands} bands" for network, run in runs
    )


def _of_bands(options: CompileOptions, ways: Sequence[BandedSplit]) -> CompileOptions:
    """What is asked of layers, asked of each of their bands."""
    partition, cache = options.partition, options.cache

    def bands_of(number: int, layer: int) -> list[int]:
        return [k for k, origin in enumerate(ways[number].banded.origins) if origin == layer]

    def mapped(asked: tuple[tuple[int, int, str], ...]) -> tuple[tuple[int, int, str], ...]:
        return tuple((of, k, what) for of, layer, what in asked for k in bands_of(of, layer))

    priority = tuple((of, k) for of, layer in cache.layer_priority for k in bands_of(of, layer))
    return replace(
        options,
        partition=replace(partition, layers=mapped(partition.layers), orders=mapped(partition.orders)),
        cache=replace(cache, layer_priority=priority),
    )


def of_layers(program: Program, way: BandedSplit) -> Program:
    """The program, its instructions and the host's steps those of the plain network's layers."""
    origins, network = way.banded.origins, way.plain.whole

    def moved(op: Instruction) -> Instruction:
        return replace(op, layer=origins[op.layer]) if op.layer >= 0 else op

    tensors, pieces = _whole_tensors(program, network, way.banded)
    return replace(
        program,
        tensors=tensors,
        pieces=pieces,
        load=tuple(map(moved, program.load)),
        run=tuple(map(moved, program.run)),
        steps=tuple(replace(step, layer=origins[step.layer]) for step in program.steps),
        layers=tuple(_layer(network, number, program, way.banded) for number in range(len(network.nodes))),
    )


def _whole_tensors(
    program: Program, network: Network, banded: BandedNetwork
) -> tuple[tuple[TensorLayout, ...], tuple[TensorPiece, ...]]:
    """What can be read out of the tiles, the bands of a tensor as parts of it; and its parts."""
    pieces: dict[int, list[TensorPiece]] = {}
    for piece in program.pieces:
        index, first = banded.places.get(piece.index, (piece.index, 0))
        row, column, channel = piece.origin
        pieces.setdefault(index, []).append(replace(piece, index=index, origin=(first + row, column, channel)))
    layouts = {}
    for layout in program.tensors:
        index, _ = banded.places.get(layout.index, (layout.index, 0))
        tensor = network.tensors[index]
        extent = (MapShape.of(tensor.shape).height, *layout.extent[1:]) if index != layout.index else layout.extent
        layouts[index] = replace(layout, index=index, name=tensor.name, extent=extent, shape=tensor.model_shape)
    readable = [layout for index, layout in sorted(layouts.items()) if covers(layout, pieces[index])]
    return tuple(readable), tuple(piece for layout in readable for piece in pieces[layout.index])


def _layer(network: Network, number: int, program: Program, banded: BandedNetwork) -> Layer:
    """A layer as its bands are, which are alike; the map of one of them is not cut as the whole would be."""
    node = network.nodes[number]
    own = [program.layers[k] for k in banded.bands_of(number)]
    homes = dict.fromkeys(home for layer in own for home in layer.parameters.split(" and ") if home)
    same = replace(own[0], name=node.name, macs=macs(network, node), parameters=" and ".join(homes))
    if len(own) == 1:
        return same
    again = sum(layer.macs for layer in own) / same.macs if same.macs else 1.0
    work = f", {again:.2f} times its multiply-accumulates in all" if again > 1 else ""
    reason = f"{same.reason}; in {len(own)} bands of rows from the host{work}"
    return replace(same, bands=sum(layer.bands for layer in own), cut=None, reason=reason)
