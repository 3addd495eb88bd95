"""The way in and the way out: host, ring, wide staging, narrow memory; and back, through the classifier or past it; and
what the host's driver has to know of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from tilesim.arithmetic.classify import FUNCTIONS, bytes_made, elements_made
from tilesim.lowering.classifying import Classifying, function_of
from tilesim.lowering.operator_plan import NetworkInput, host_fields
from tilesim.network.graph import Network
from tilesim.network.operators.softmax import Softmax
from tilesim.tiled.compiler.chip_part import is_passing
from tilesim.tiled.compiler.feature_map import FeatureMap, MapPart, MapShape, map_name
from tilesim.tiled.compiler.input_stream import is_streamed, part_filter, stream_block, stream_infeed, stream_rows
from tilesim.tiled.compiler.lines import segments
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.rows import each_row, part_words, receive, rows_for, rows_of, wide_rows
from tilesim.tiled.compiler.task import element_type
from tilesim.tiled.compiler.tile_plan import TileOutput, TilePlan
from tilesim.tiled.compiler.wide_layout import WideLayout
from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.isa.model.fields import Flag, Traversal
from tilesim.tiled.isa.model.program import PLACES, Block, HostTensor
from tilesim.tiled.topology import Topology


def staging_rows(maps: Iterable[FeatureMap], row_bytes: int) -> int:
    """Wide rows for the largest part of some maps."""
    return max(rows_for(part, row_bytes) for map_ in maps for _, part in map_.parts())


def feed(builder: ProgramBuilder, source: NetworkInput, band: int, wide: WideLayout, layer: int) -> None:
    """Let a network input come in, or a band of it, each row going on to narrow memory as soon as it has come."""
    names, row_bytes = builder.partition.maps_of(source.stored.index), builder.topology.wide_memory.row_bytes
    name, maps = names[band], [builder.placement.maps[rows_there] for rows_there in names]
    label = f"input{source.stored.index}" + (f".band{band}" if len(names) > 1 else "")
    turn = builder.infeed_turn()  # may take a fence, which must not wait for the consumers that are posted here
    builder.release(name)
    place = places_in(builder.plan)[builder.plan.sources.index(source)]
    address = wide.staging[place].address + band % 2 * staging_rows(maps, row_bytes) * row_bytes
    rows = {tile: wide_rows(address, rows_for(part, row_bytes), row_bytes) for tile, part in maps[band].parts()}
    by_line = _by_line(builder, names)
    unpacks = {tile: _unpack(builder, name, tile, rows_there, layer) for tile, rows_there in rows.items()}
    unpacks = {tile: _by_row(op) for tile, op in unpacks.items()} if by_line else unpacks
    left = builder.completions[names[band - 2]] if band > 1 else {}  # what came through these rows before
    free = dict(builder.staged.get(place, {}))
    free |= {tile: (builder.counted(before.flag, before.count),) for tile, before in left.items()}
    consumes = {tile: receive(rows_there, free.get(tile, ()), layer) for tile, rows_there in rows.items()}
    infeeds = _infeeds(maps[band], row_bytes, by_line)
    if is_streamed(maps[band], builder.topology):
        consumes = {tile: _picking(op, maps[band], tile, row_bytes) for tile, op in consumes.items()}
        infeeds = [stream_infeed(maps[band], row_bytes)]
    builder.write(f"{label}.receive", consumes)
    for number, infeed in enumerate(infeeds):
        builder.infeed(replace(infeed, turn=turn, layer=layer, label=f"{label}.send{number}"))
    labels = builder.write(label, unpacks)
    builder.use(name, unpacks.values())
    builder.note_unpacked(name, unpacks, by_line)
    builder.note(name, source.stored, labels)
    if is_passing(builder.plan.network, source.model.index):
        _leave(builder, place, unpacks, Flag.WIDE_TO_NARROW)


def _picking(op: isa.RingConsume, map_: FeatureMap, tile: int, row_bytes: int) -> isa.RingConsume:
    """Take the whole input, and keep the tile's part."""
    return replace(op, filter=part_filter(map_.part(tile), map_.shape, stream_rows(map_, row_bytes), row_bytes))


def _by_line(builder: ProgramBuilder, names: list[str]) -> bool:
    """Whether something may wait for lines of an input: not of bands, which are small as they are, nor of one stream
    for all tiles.
    """
    alone = len(names) == 1 and not is_streamed(builder.placement.maps[names[0]], builder.topology)
    return builder.mixed and alone


def _unpack(builder: ProgramBuilder, name: str, tile: int, rows: Traversal, layer: int) -> isa.WideToNarrow:
    """The next rows to come, on to narrow memory."""
    topology, part = builder.topology, builder.placement.maps[name].part(tile)
    first = builder.raised[tile, Flag.RING_READ_A] + 1
    arrival = builder.counted(Flag.RING_READ_A, first, *(("r", 1) if rows_of(rows) > 1 else ()))
    return isa.WideToNarrow(
        tiles=0,
        read=rows,
        write=part_words(part, topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes),
        wait=(arrival, *builder.free(name, tile)),
        produce="r",
        layer=layer,
    )


def _by_row(op: isa.WideToNarrow) -> isa.WideToNarrow:
    """The same, each row raising the flag."""
    rows = each_row(op.read)
    return replace(op, read=rows, produce=rows.nest.loops[-1].name)


def _infeeds(map_: FeatureMap, row_bytes: int, in_turn: bool) -> list[isa.Infeed]:
    """A transfer a piece, in the order in which they come; for neighbours in number with as many rows in one
    instruction.
    """
    pieces = [(tile, rows_for(part, row_bytes)) for tile, part in _coming(map_, row_bytes, in_turn)]
    if _alike(map_):
        return [isa.Infeed(source="host", rows=rows, to=map_.tiles) for _, rows in pieces]
    runs: list[list[tuple[int, int]]] = []
    for tile, rows in pieces:
        if runs and runs[-1][-1] == (tile - 1, rows):
            runs[-1].append((tile, rows))
        else:
            runs.append([(tile, rows)])
    return [isa.Infeed(source="host", rows=run[0][1], to=1 << run[0][0], transfers=len(run)) for run in runs]


def _alike(map_: FeatureMap) -> bool:
    """Whether all tiles have all of a map."""
    return all(part.whole for _, part in map_.parts())


def _coming(map_: FeatureMap, row_bytes: int, in_turn: bool) -> list[tuple[int, MapPart]]:
    """The parts of a map as they come, one tile's after the other's, or once if all are the same; ``in_turn``: their
    first lines one after the other, then the next ones, so that all tiles can begin.
    """
    parts = list(map_.parts())
    if _alike(map_):
        return parts[:1]
    if not in_turn:
        return parts
    cut = [(tile, part, segments(part, row_bytes)) for tile, part in parts]
    return [
        (tile, part.band(lines[k]))
        for k in range(max(len(lines) for _, _, lines in cut))
        for tile, part, lines in cut
        if k < len(lines)
    ]


def blocks_of(map_: FeatureMap, row_bytes: int, in_turn: bool = False) -> tuple[Block, ...]:
    """A map as the host sends or gets it: the part of one tile after the other, or once if all have the same; or their
    first lines, and so on.
    """
    return tuple(
        Block(
            origin=(part.rows.start, part.columns.start, part.channels.start),
            extent=(len(part.rows), len(part.columns), len(part.channels)),
            pixel_bytes=part.pixel_bytes,
            rows=rows_for(part, row_bytes),
        )
        for _, part in _coming(map_, row_bytes, in_turn)
    )


def drain(builder: ProgramBuilder, number: int, sink: TileOutput, wide: WideLayout) -> None:
    """Let network output ``number`` go out, the part of one tile after the other."""
    label, name, tiles = f"output{number}", map_name(sink.stored.index), builder.topology.tiles
    map_, row_bytes = builder.placement.maps[name], builder.topology.wide_memory.row_bytes
    parts = dict(map_.parts())
    owners = map_.owners[:1] if parts[map_.owners[0]].whole else map_.owners
    place, passing = places_out(builder.plan)[number], is_passing(builder.plan.network, sink.model.index)
    staging, left = wide.staging[place].address, builder.staged.get(place, {})
    rows = {tile: wide_rows(staging, rows_for(parts[tile], row_bytes), row_bytes) for tile in owners}
    packs = {
        tile: isa.NarrowToWide(
            tiles=0,
            read=part_words(parts[tile], row_bytes, builder.topology.narrow_memory.word_bytes),
            write=rows[tile],
            wait=(*builder.complete(name, tile), *left.get(tile, ())),
            produce="r",
        )
        for tile in owners
    }
    builder.write(label, packs)
    builder.use(name, packs.values())
    sent = sum(rows_for(parts[tile], row_bytes) for tile in owners)
    classify = None if sink.classifying is None else _classify(sink, sink.classifying, sent, map_.block, label)
    leaving = sent if classify is None else _reply_rows(classify, row_bytes)
    builder.rest.append(isa.Outfeed(output=number, rows=leaving, label=f"{label}.receive"))
    if classify is not None:
        builder.rest.append(classify)
    to = 1 << (tiles if classify is not None else tiles + 1)
    for tile in owners:
        wait = (builder.count(tile, Flag.NARROW_TO_WIDE), *builder.turn(tile))
        send = isa.RingProduce(tiles=0, read=rows[tile], to=to, wait=wait, produce="r" if passing else None)
        builder.write(f"{label}.send{tile}", {tile: send})
        builder.send(tile, to)
    if passing:
        _leave(builder, place, owners, Flag.RING_WRITE)


def _leave(builder: ProgramBuilder, place: str, tiles: Iterable[int], done: Flag) -> None:
    """Remember what tiles have to wait for before they use a place of wide memory again."""
    builder.staged.setdefault(place, {}).update({tile: (builder.count(tile, done),) for tile in tiles})


def places_in(plan: TilePlan) -> list[str]:
    """What the rows of wide memory are called through which each input comes: bands take turns in two places."""
    return _places(plan.network, "in", [(source.model.index, source.stored.index) for source in plan.sources])


def places_out(plan: TilePlan) -> list[str]:
    """The same for each output."""
    return _places(plan.network, "out", [(sink.model.index, number) for number, sink in enumerate(plan.sinks)])


def _places(network: Network, way: str, ends: Sequence[tuple[int, int]]) -> list[str]:
    turns = count()
    return [f"{way}.turn{next(turns) % 2}" if is_passing(network, end) else f"{way}{name}" for end, name in ends]


def _reply_rows(op: isa.Classify, row_bytes: int) -> int:
    return -(-bytes_made(op.function, op.elements, op.scaling) // row_bytes)


def _classify(sink: TileOutput, op: Classifying, rows: int, block: int, label: str) -> isa.Classify:
    kind = element_type(sink.stored.dtype)
    function, scaling = function_of(op)
    return isa.Classify(
        rows=rows,
        elements=sink.elements,
        elements_per_sender=block,
        function=function,
        scaling=scaling,
        input_type=kind,
        output_type=kind,
        layer=sink.classifier_layer,
        label=f"{label}.{'softmax' if isinstance(op, Softmax) else function}",
    )


def host_input(builder: ProgramBuilder, source: NetworkInput) -> HostTensor:
    """A network input as the host sends it: one band after the other."""
    names = builder.partition.maps_of(source.stored.index)
    maps = [builder.placement.maps[name] for name in names]
    by_line = _by_line(builder, names)
    blocks = [block for map_ in maps for block in _sent_blocks(map_, builder.topology, by_line)]
    quantisation = source.stored.quantisation
    return _host_tensor(source, maps[0].shape, tuple(blocks), pad=quantisation.zero_point if quantisation else 0)


def _sent_blocks(map_: FeatureMap, topology: Topology, by_line: bool) -> tuple[Block, ...]:
    row_bytes = topology.wide_memory.row_bytes
    return (stream_block(map_, row_bytes),) if is_streamed(map_, topology) else blocks_of(map_, row_bytes, by_line)


def host_output(builder: ProgramBuilder, sink: TileOutput) -> HostTensor:
    """A network output as the host gets it: from the tiles, or from the classifier one vector from its first row on."""
    map_, row_bytes = builder.placement.maps[map_name(sink.stored.index)], builder.topology.wide_memory.row_bytes
    function, scaling = ("", ()) if sink.at_host is None else function_of(sink.at_host)
    conversion = {"lookup": sink.lookup, "function": function, "scaling": scaling}
    if sink.classifying is None:
        return _host_tensor(sink, map_.shape, blocks_of(map_, row_bytes), **conversion)
    return _replied(sink, sink.classifying, row_bytes, **conversion)


def _replied(sink: TileOutput, op: Classifying, row_bytes: int, **conversion: Any) -> HostTensor:
    """A network output as the classifier sends it."""
    function, scaling = function_of(op)
    count, size = elements_made(function, sink.elements, scaling), bytes_made(function, sink.elements, scaling)
    if FUNCTIONS[function].places:
        conversion["element"] = PLACES
    block = Block((0, 0, 0), (1, 1, count), size, -(-size // row_bytes))
    return _host_tensor(sink, MapShape(1, 1, count), (block,), **conversion)


def _host_tensor(
    end: NetworkInput | TileOutput, shape: MapShape, blocks: tuple[Block, ...], **conversion: Any
) -> HostTensor:
    own = {"element": str(element_type(end.stored.dtype)), **host_fields(end), **conversion}
    return HostTensor(extent=(shape.height, shape.width, shape.channels), blocks=blocks, **own)
