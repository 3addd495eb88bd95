"""The edges of maps where the mesh joins wide memories: what a neighbour sends fills whole rows there, and goes on from
them to its place in narrow memory; so do borders, each from one row of its zero point.

Source: US 2025/0265455 [0029], [0032]; that some words are sent twice to fill a row is an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from msgspec import Struct

from tilesim.tiled.compiler.axis import Axis, clip
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.rows import each_row, rows_of, wide_rows
from tilesim.tiled.compiler.whole_rows import in_whole_rows, rows_filled
from tilesim.tiled.isa.model.fields import Flag, Loop, MemoryName, Nest, Reference, Side, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut, WideToNarrow, raised_flag
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Region
from tilesim.tiled.isa.model.sheet import FLAGS, MESH_IN
from tilesim.tiled.topology import Topology

Exchange: TypeAlias = MeshIn | MeshOut
Moves: TypeAlias = MeshIn | MeshOut | WideToNarrow


def joins_wide(topology: Topology) -> bool:
    return MemoryName(topology.mesh.destination) is MemoryName.WIDE


def row_words(topology: Topology) -> int:
    return topology.wide_memory.row_bytes // topology.narrow_memory.word_bytes


def arrival_flag(topology: Topology, side: Side) -> Flag:
    """What tells a tile that words from a side of it have come to its narrow memory."""
    return Flag.WIDE_TO_NARROW if joins_wide(topology) else FLAGS[MESH_IN[side]]


def staging_of_side(side: Side) -> str:
    """What the rows of wide memory are called into which words from a side come."""
    return f"mesh {side}"


def staging_of_border(fill: int) -> str:
    """What the row is called from which borders of a zero point are filled, whose bytes are alike."""
    return f"border {fill % 256}"


def staging_rows_of_edges(builder: ProgramBuilder) -> dict[str, int]:
    """The wide rows that the edges of all maps go through, by the name of their place."""
    rows: dict[str, int] = {}
    for name, map_ in builder.placement.maps.items() if joins_wide(builder.topology) else ():
        for side, lines, words in _rectangles(map_, builder.topology.narrow_memory.word_bytes):
            place, needed = staging_of_side(side), rows_filled(lines, words, row_words(builder.topology))
            rows[place] = max(rows.get(place, 0), needed)
        if _has_border(map_.rows) or _has_border(map_.columns):
            quantisation = builder.partition.tensor(name).quantisation
            rows[staging_of_border(quantisation.zero_point if quantisation else 0)] = 1
    return rows


def _has_border(axis: Axis) -> bool:
    return any(axis.border(place, before) for place in range(len(axis.own)) for before in (True, False))


def _rectangles(map_: FeatureMap, word_bytes: int) -> Iterator[tuple[Side, int, int]]:
    """Lines and words of what comes from each side of a tile, and of some rectangles that don't."""
    down, across, pixel_words = map_.rows, map_.columns, map_.pixel_bytes // word_bytes
    rows, columns = range(len(down.own)), range(len(across.own))
    widths = {len(own) for own in across.own}
    heights = {len(band) for i in rows for band in _bands(down, i)}
    for before, side in ((True, Side.NORTH), (False, Side.SOUTH)):
        yield from _sized(side, {len(down.received(i, before)) for i in rows}, widths, pixel_words)
    for before, side in ((True, Side.WEST), (False, Side.EAST)):
        yield from _sized(side, heights, {len(across.received(j, before)) for j in columns}, pixel_words)


def _bands(axis: Axis, place: int) -> Iterator[range]:
    """Those of the rows that a place needs that may come with columns beside them in one go."""
    need, own = axis.need[place], axis.own[place]
    yield need
    yield clip(need, own.start, own.stop)
    yield clip(clip(need, need.start, own.start), 0, axis.size)
    yield clip(clip(need, own.stop, need.stop), 0, axis.size)


def _sized(side: Side, heights: set[int], widths: set[int], pixel_words: int) -> Iterator[tuple[Side, int, int]]:
    for lines, pixels in product(heights, widths):
        if lines and pixels:
            yield side, lines, pixels * pixel_words


class MeshRows(Struct, frozen=True):
    """Writes the instructions of an exchange, of edges in rectangles of narrow words, with the ``staging`` rows."""

    builder: ProgramBuilder
    staging: Mapping[str, Region]

    def write(self, label: str, side: Side, ops: Mapping[int, Exchange]) -> Mapping[int, Moves]:
        """Append what some tiles do at a ``side`` of their places; what of it is at narrow memory."""
        sends = {tile: op for tile, op in ops.items() if isinstance(op, MeshOut)}
        fills = {tile: op for tile, op in ops.items() if isinstance(op, MeshIn) and op.fill is not None}
        receives = {tile: op for tile, op in ops.items() if isinstance(op, MeshIn) and op.fill is None}
        moved: dict[int, Moves] = {}
        moved |= self._send(label, sends) if sends else {}
        moved |= self._fill(label, fills) if fills else {}
        moved |= self._receive(label, side, receives) if receives else {}
        return moved

    @property
    def _row_words(self) -> int:
        return row_words(self.builder.topology)

    def _send(self, label: str, ops: Mapping[int, MeshOut]) -> Mapping[int, MeshOut]:
        sends = {}
        for tile, op in ops.items():
            read = in_whole_rows(op.read, self._row_words)
            sends[tile] = replace(op, read=read, produce=read.nest.loops[0].name)
        self.builder.write(label, sends)
        return sends

    def _fill(self, label: str, ops: Mapping[int, MeshIn]) -> Mapping[int, WideToNarrow]:
        """The row of the zero point is made when it is needed for the first time."""
        fills = {op.fill for op in ops.values() if op.fill is not None}
        [place] = {staging_of_border(fill) for fill in fills}
        made, address = self.builder.staged.setdefault(place, {}), self.staging[place].address
        row = wide_rows(address, 1, self.builder.topology.wide_memory.row_bytes)
        new = {tile: replace(op, write=row, wait=(), produce="r") for tile, op in ops.items() if tile not in made}
        self.builder.write(f"{label}.row", new)
        made.update({tile: (self.builder.count(tile, raised_flag(op)),) for tile, op in new.items()})
        unpacks = {}
        for tile, op in ops.items():
            write = in_whole_rows(op.write, self._row_words)
            again = Nest((Loop("r", iterations(write.nest) // self._row_words),))
            unpacks[tile] = _unpack(op, Traversal(again, Reference(address)), write, made[tile])
        self.builder.write(label, unpacks)
        return unpacks

    def _receive(self, label: str, side: Side, ops: Mapping[int, MeshIn]) -> Mapping[int, WideToNarrow]:
        """Each row goes on as soon as it has come; the next ones for the same place wait for that."""
        place = staging_of_side(side)
        taken, address = self.builder.staged.setdefault(place, {}), self.staging[place].address
        receives, unpacks = {}, {}
        for tile, op in ops.items():
            write = in_whole_rows(op.write, self._row_words)
            rows = wide_rows(
                address, iterations(write.nest) // self._row_words, self.builder.topology.wide_memory.row_bytes
            )
            arriving = each_row(rows) if rows_of(rows) > 1 else rows
            produce = arriving.nest.loops[-1].name
            receives[tile] = replace(op, write=arriving, wait=taken.get(tile, ()), produce=produce)
            flag = raised_flag(op)
            first = self.builder.counted(flag, self.builder.raised[tile, flag] + 1, *_in_turn(rows))
            unpacks[tile] = _unpack(op, rows, write, (first,))
        self.builder.write(label, receives)
        self.builder.write(f"{label}.unpack", unpacks)
        taken.update({tile: (self.builder.count(tile, Flag.WIDE_TO_NARROW),) for tile in unpacks})
        return unpacks


def _in_turn(rows: Traversal) -> tuple[str, int] | tuple[()]:
    """The loop, and the stride, with which one waits for each of some rows; none for one."""
    return ("r", 1) if rows_of(rows) > 1 else ()


def _unpack(op: MeshIn, read: Traversal, write: Traversal, arrival: tuple[Watcher, ...]) -> WideToNarrow:
    wait = (*op.wait, *arrival)
    return WideToNarrow(tiles=0, read=read, write=write, wait=wait, produce="r", layer=op.layer)
