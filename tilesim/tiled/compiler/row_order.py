"""In which order a layer's rows are made, with how many tensorops, and what each of them waits for line by line: so
that a layer begins with the first lines that are there, while others still come over the ring or the mesh.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tilesim.tiled.compiler.feature_map import FeatureMap, map_name
from tilesim.tiled.compiler.fusion import LayerCall
from tilesim.tiled.compiler.input_stream import is_streamed
from tilesim.tiled.compiler.lines import LineArrivals, earliest, runs, segments
from tilesim.tiled.compiler.mesh_rows import arrival_flag
from tilesim.tiled.compiler.operators import receptive_fields, traits_of
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.sides import sides_read
from tilesim.tiled.compiler.traits import ReceptiveField
from tilesim.tiled.isa.model.fields import Flag, Watcher
from tilesim.tiled.isa.model.instructions import TensorOp

LAST_WORDS = 16
"""Words that come sideways for the last line of a map with which it pays to begin with other lines, though that takes
one more tensorop. Assumption.
"""


class RowOrder(Struct, frozen=True):
    """Rows are made downwards (``step`` 1) or upwards (-1), the first ``late`` of them last."""

    step: int
    late: int = 0

    def rows(self, count: int) -> list[int]:
        """The places of a block's rows in the order in which they are made."""
        rows = [*range(count)][:: self.step]
        return [*rows[self.late :], *rows[: self.late]]


def row_by_row(call: LayerCall) -> bool:
    return traits_of(call.node).row_by_row and call.group is None


def comes_by_line(builder: ProgramBuilder, name: str) -> bool:
    """Whether the lines of a map come over the ring, one segment after the other."""
    names, map_ = [map_name(source.stored.index) for source in builder.plan.sources], builder.placement.maps[name]
    row_bytes = builder.topology.wide_memory.row_bytes
    if name not in names or is_streamed(map_, builder.topology):
        return False
    return builder.mixed and any(len(segments(part, row_bytes)) > 1 for _, part in map_.parts())


def comes_in_parts(builder: ProgramBuilder, call: LayerCall) -> bool:
    """Whether rows of a call wait for parts of its input apart: lines from the host, or a neighbour's last ones."""
    if not row_by_row(call):
        return False
    return comes_by_line(builder, _read(builder, call)) or row_order(builder, call).late > 0


def row_order(builder: ProgramBuilder, call: LayerCall) -> RowOrder:
    """Upwards if the rows that come from above are the last to come: a neighbour made them last. Or the way in which
    the lines are made, but for the rows that need such: these come last, if they would wait for more than
    :data:`LAST_WORDS`.
    """
    if not row_by_row(call):
        return RowOrder(1)
    name = _read(builder, call)
    read, made = builder.placement.maps[name], builder.placement.maps[call.makes]
    along, comes = builder.steps.get(name, 1), read.rows.exchanges
    if not builder.mixed:
        return RowOrder(-1 if comes and along == 1 else 1)
    if not comes:
        return RowOrder(along if comes_by_line(builder, name) else 1)
    late, count = _late(builder, call, read, made, along), len(made.rows.blocks[0])
    if comes_by_line(builder, name) or not late:
        return RowOrder(along, min(late, count - 1))
    hidden = count > late + 2 and not made.rows.exchanges and _last_words(builder, read) > LAST_WORDS
    return RowOrder(along, late) if hidden else RowOrder(-along)


def _read(builder: ProgramBuilder, call: LayerCall) -> str:
    return call.reads[builder.plan.activations(call.node)[0].index]


def _window(builder: ProgramBuilder, call: LayerCall) -> ReceptiveField:
    return receptive_fields(builder.plan.network, call.node)[0]


def _late(builder: ProgramBuilder, call: LayerCall, read: FeatureMap, made: FeatureMap, along: int) -> int:
    """How many of the first rows need lines of the neighbour that makes these last, at most."""
    window, late = _window(builder, call), 0
    for i, rows in enumerate(made.rows.blocks):
        coming = read.rows.received(i, along > 0)
        if rows and coming:
            late = max(late, sum(_meets(window.reads(range(row, row + 1)), coming) for row in rows))
    return late


def _meets(some: range, others: range) -> bool:
    return max(some.start, others.start) < min(some.stop, others.stop)


def _last_words(builder: ProgramBuilder, read: FeatureMap) -> int:
    """Words that come sideways for the last line of the busiest tile, and its corners."""
    most = max(len(read.columns.received(j, west)) for j in range(len(read.columns.own)) for west in (True, False))
    return 2 * most * read.pixel_bytes // builder.topology.narrow_memory.word_bytes


def row_runs(builder: ProgramBuilder, call: LayerCall, tile: int, order: RowOrder, op: TensorOp) -> list[range]:
    """Which rounds of a tensorop's rows a tile makes with one tensorop each: those that are late alone, and the others
    by the segments in which what they read comes over the ring.
    """
    rows = call.part(builder.placement.maps[call.makes], tile).block_rows
    outer = op.nest.loops[0]
    if not builder.mixed or not row_by_row(call) or outer.name != "y" or outer.bound != len(rows):
        return [range(outer.bound)]
    name, ends = _read(builder, call), list[int]()
    if comes_by_line(builder, name):
        window, part = _window(builder, call), builder.placement.maps[name].part(tile)
        needed = [min(window.reads(range(row, row + 1)).stop, part.rows.stop) for row in rows]
        cut = segments(part, builder.topology.wide_memory.row_bytes)
        ends = [sum(stop <= lines.stop for stop in needed) for lines in cut]
    return runs(len(rows), ends, order.late)


def rows_outside(op: TensorOp, rounds: int) -> bool:
    """Whether the outermost loop goes over several rows."""
    return rounds > 1 and op.nest.loops[0].name == "y"


class LineWaits:
    """What the tensorops of a call wait for, line by line; what tiles have in common is worked out once."""

    def __init__(self, builder: ProgramBuilder, call: LayerCall) -> None:
        self._builder, self._call = builder, call
        self._makes, self._names = builder.placement.maps[call.makes], tuple(dict.fromkeys(call.reads.values()))
        self._needs: dict[tuple[range, tuple[int, ...]], tuple[range, ...]] = {}
        self._counted: dict[tuple[tuple[int, ...], int], dict[Flag, list[int]]] = {}
        self._flags: dict[tuple[str, int], set[Flag]] = {}

    def of(self, tile: int, op: TensorOp, places: tuple[int, ...]) -> tuple[Watcher, ...]:
        """What a tile's tensorop waits for that makes the rows at some places of its block, one after the other: for
        each of them the lines that it reads; for all of them where its outermost loop is another one.
        """
        return tuple(self._watchers(tile, op, places)) if places else ()

    def _watchers(self, tile: int, op: TensorOp, places: tuple[int, ...]) -> Iterator[Watcher]:
        builder, needs = self._builder, self._needed(tile, places)
        for name in self._names:
            arrivals = builder.lines.get(name, {}).get(tile, ())
            wanted = self._flags_read(name, tile) if arrivals else ()
            counts = self._counts(tuple(arrival for arrival in arrivals if arrival.flag in wanted), needs)
            made = builder.completions[name].get(tile)
            if made is not None and made.flag is not Flag.AVDATA:
                height = builder.placement.maps[name].shape.height
                own = [_made(made.order, made.counts, need, made.count, height) for need in needs]
                counts[made.flag] = [max(both) for both in zip(counts.get(made.flag, own), own, strict=True)]
            if not rows_outside(op, len(places)):
                counts = {flag: [max(by_row)] for flag, by_row in counts.items()}
            yield from _new(builder, tile, counts)

    def _counts(self, arrivals: tuple[LineArrivals, ...], needs: tuple[range, ...]) -> dict[Flag, list[int]]:
        """How far flags count when what each row needs of some lines has come."""
        key = tuple(map(id, arrivals)), id(needs)  # both are kept; tiles share them
        if key not in self._counted:
            counts: dict[Flag, list[int]] = {}
            for arrival in arrivals:
                known = counts.get(arrival.flag, [0] * len(needs))
                counts[arrival.flag] = [max(a, arrival.count(need)) for a, need in zip(known, needs, strict=True)]
            self._counted[key] = counts
        return dict(self._counted[key])

    def _needed(self, tile: int, places: tuple[int, ...]) -> tuple[range, ...]:
        """The lines that each row reads."""
        block = self._call.part(self._makes, tile).block_rows
        if (block, places) not in self._needs:
            window, rows = _window(self._builder, self._call), [block[place] for place in places]
            self._needs[block, places] = tuple(window.reads(range(row, row + 1)) for row in rows)
        return self._needs[block, places]

    def _flags_read(self, name: str, tile: int) -> set[Flag]:
        """The flags that the lines raise which the call reads beyond a tile's own part of a map."""
        if (name, tile) not in self._flags:
            builder = self._builder
            at = builder.placement.maps[name].arrangement.sides(tile)
            sides = sides_read(builder, name, self._call, tile)
            self._flags[name, tile] = {arrival_flag(builder.topology, at[side]) for side in sides}
        return self._flags[name, tile]


def _made(order: object, counts: tuple[int, ...], need: range, whole: int, height: int) -> int:
    """The count when the own lines of some that are needed are there. A row that a tile makes beyond the map's last, as
    others have one more, reads what stands behind the ``height`` lines: the last to be written.
    """
    if not isinstance(order, range) or not order or need.start >= height:
        return whole
    return max((count for row, count in zip(order, counts, strict=True) if row in need), default=0)


def _new(builder: ProgramBuilder, tile: int, counts: dict[Flag, list[int]]) -> Iterator[Watcher]:
    """Waits for counts for which no earlier tensorop of the tile has waited."""
    for flag, by_row in counts.items():
        if max(by_row) > builder.reached[tile, flag]:
            yield from earliest(flag, by_row, builder.topology.tile.strict_compare)
            builder.reached[tile, flag] = max(by_row)
