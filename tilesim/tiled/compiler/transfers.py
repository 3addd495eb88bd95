"""The way in and the way out: host, ring, wide staging, narrow memory; and back, through the classifier or past it."""

from __future__ import annotations

from dataclasses import replace

from tilesim.arithmetic.requantise import float_bits
from tilesim.network.operators.softmax import Softmax
from tilesim.tiled.compiler.borders import fill_borders
from tilesim.tiled.compiler.draft import Draft
from tilesim.tiled.compiler.outline import Sink, Source
from tilesim.tiled.compiler.rows import each_row, map_words, rows_of
from tilesim.tiled.compiler.task import element_type
from tilesim.tiled.isa.fields import Flag, Traversal, Watcher
from tilesim.tiled.isa.instructions import (
    Classify,
    Infeed,
    NarrowToWide,
    Outfeed,
    RingConsume,
    RingProduce,
    WideToNarrow,
)

SOFTMAX_FUNCTIONS = {"plain": "softmax", "aligned": "softmax_aligned"}


def feed(draft: Draft, source: Source, staging: Traversal) -> None:
    """Let a network input come in, each row going on to narrow memory as soon as it has come."""
    tensor, label, rows = source.stored, f"input{source.stored.index}", rows_of(staging)
    fill_borders(draft, tensor, 0)
    below, ready = _south(draft.ready.pop(tensor.index, []))
    arrived = draft.counted(Flag.RING_READ_A, draft.raised[Flag.RING_READ_A] + 1)
    arriving = each_row(staging) if rows > 1 else staging
    completes = arriving.nest.loops[-1].name
    draft.write(
        RingConsume(tiles=draft.tiles, write=arriving, produce=completes, label=f"{label}.receive"),
        Flag.RING_READ_A,
        by=rows,
    )
    draft.write(Infeed(source="host", rows=rows, to=draft.tiles, label=f"{label}.send"))
    op = WideToNarrow(
        tiles=draft.tiles,
        read=staging,
        write=_words(draft, source, staging),
        # Whole wide rows may run on into the border below the map, which has to be filled before.
        wait=(replace(arrived, loop="r", stride=1) if rows > 1 else arrived, *below),
        produce="r",
        label=label,
    )
    draft.write(op, Flag.WIDE_TO_NARROW)
    draft.ready[tensor.index] = [*ready, draft.all_of(Flag.WIDE_TO_NARROW)]
    draft.note(tensor, label)


def drain(draft: Draft, number: int, sink: Sink, staging: Traversal) -> None:
    """Let network output ``number`` go out."""
    tensor, label, tiles = sink.stored, f"output{number}", draft.topology.tiles
    written = [draft.all_of(Flag.AVDATA)] if draft.raised[Flag.AVDATA] else []
    op = NarrowToWide(
        tiles=draft.tiles,
        read=_words(draft, sink, staging),
        write=staging,
        wait=(*written, *draft.ready.get(tensor.index, ())),
        produce="r",
        label=label,
    )
    draft.write(op, Flag.NARROW_TO_WIDE)
    draft.write(Outfeed(output=number, rows=rows_of(staging), label=f"{label}.receive"))
    if sink.softmax is not None:
        draft.write(_classify(sink, sink.softmax, rows_of(staging), f"{label}.softmax"))
    to = 1 << (tiles if sink.softmax is not None else tiles + 1)
    wait = (draft.all_of(Flag.NARROW_TO_WIDE),)
    draft.write(RingProduce(tiles=draft.tiles, read=staging, to=to, wait=wait, label=f"{label}.send"))


def _words(draft: Draft, end: Source | Sink, staging: Traversal) -> Traversal:
    topology = draft.topology
    map_ = draft.map_of(end.stored)
    return map_words(map_, rows_of(staging), topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes)


def _south(watchers: list[Watcher]) -> tuple[list[Watcher], list[Watcher]]:
    below = [watcher for watcher in watchers if watcher.flag is Flag.MESH_SOUTH_IN]
    return below, [watcher for watcher in watchers if watcher not in below]


def _classify(sink: Sink, softmax: Softmax, rows: int, label: str) -> Classify:
    scales = (int(float_bits(scale)[0]) for scale in (softmax.input_scale, softmax.output_scale))
    kind = element_type(sink.stored.dtype)
    return Classify(
        rows=rows,
        elements=sink.elements,
        function=SOFTMAX_FUNCTIONS[softmax.rule],
        scaling=(*scales, softmax.output_zero_point, *softmax.clamp),
        input_type=kind,
        output_type=kind,
        layer=sink.softmax_layer,
        label=label,
    )
