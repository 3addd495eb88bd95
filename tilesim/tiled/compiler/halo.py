"""What a tile needs of a map beyond its own part: rows and columns from its neighbours, zero points from nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field

from tilesim.tiled.compiler.axis import Axis, clip, hull
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.lines import LineArrivals, by_segment, earliest
from tilesim.tiled.compiler.mesh_rows import MeshRows, Moves, arrival_flag
from tilesim.tiled.compiler.program_builder import Arrival, ProgramBuilder
from tilesim.tiled.compiler.rows import block, each_row, meet
from tilesim.tiled.compiler.sides import COLUMNS_FROM, ROWS_FROM, sides_read
from tilesim.tiled.isa.model.fields import OPPOSITE, Flag, Side, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut, increments, raised_flag

Counts = Mapping[tuple[int, Flag], int]
_ReceiveKey = tuple[Side, int, int | None, tuple[Watcher, ...], bool]
_SendKey = tuple[Side, int, tuple[Flag | int, ...], tuple[Watcher, ...]]


class Halo(Struct, frozen=True, dict=True):
    """The exchange of one map: rows up and down first, then columns, those of rows that have come included.

    What comes from above (below, if not ``above_last``) is written last: the layers that read the map get there last.
    Own rows go sideways in the order ``step`` in which they are made. ``zero_point`` fills the border; ``layer`` is the
    one that the words are for. Where the mesh joins wide memories, they go through ``rows``, and no line alone.
    """

    builder: ProgramBuilder
    name: str
    zero_point: int
    layer: int
    above_last: bool
    step: int
    rows: MeshRows | None = None
    # Tiles differ little in what they do. What is known by a traversal's id holds it, too.
    _met: dict[tuple[int, int], tuple[Traversal, Traversal, bool]] = field(default_factory=dict)
    _freed: dict[int, tuple[tuple[Watcher, ...], tuple[Traversal, Watcher] | None]] = field(default_factory=dict)
    _received: dict[_ReceiveKey, tuple[Traversal, MeshIn]] = field(default_factory=dict)
    _sent: dict[_SendKey, tuple[Traversal, MeshOut]] = field(default_factory=dict)

    def write(self) -> None:
        """Append all instructions, each receive directly before its send."""
        before = self._counts()
        self._rows(not self.above_last)
        self._columns(None)
        if self._crosses:
            self._columns(not self.above_last)
        early = self._counts()
        self._rows(self.above_last)
        if self._crosses:
            self._columns(self.above_last)
        self.builder.arrived[self.name] = _arrivals(before, early, self._counts())

    @cached_property
    def map(self) -> FeatureMap:
        return self.builder.placement.maps[self.name]

    def _at(self, tile: int, side: Side) -> Side:
        """The side of a tile that looks to ``side`` of its place."""
        return self.map.arrangement.sides(tile)[side]

    @cached_property
    def _flags(self) -> dict[Side, Flag]:
        return {side: arrival_flag(self.builder.topology, side) for side in Side}

    @property
    def _lines_apart(self) -> bool:
        """Whether lines that go sideways are sent and awaited one by one."""
        return self.builder.mixed and self.rows is None

    @property
    def _crosses(self) -> bool:
        """Whether there are neighbours both ways; if not, what lies above and below is dealt with in one go."""
        return self.map.rows.exchanges and self.map.columns.exchanges

    def _counts(self) -> Counts:
        flags = tuple(dict.fromkeys(self._flags.values()))
        return {(tile, flag): self.builder.raised[tile, flag] for tile in self.map.held for flag in flags}

    @cached_property
    def _places(self) -> list[tuple[int, int, int]]:
        """Each tile that holds something, with its place in the grid."""
        return [(tile, *self.map.place(tile)) for tile in self.map.held]

    def _rows(self, above: bool) -> None:
        """Rows from above (or below) for the own columns."""
        rows, columns, side, every = self.map.rows, self.map.columns, ROWS_FROM[above], range(len(self.map.rows.own))
        widths = columns.own if rows.exchanges else columns.need
        borders, coming = [rows.border(i, above) for i in every], [rows.received(i, above) for i in every]
        all_leaving = [rows.sent(i, not above) for i in every]
        fills = {
            tile: self._fill(tile, side, borders[i], widths[j])
            for tile, i, j in self._places
            if borders[i] and columns.need[j]
        }
        receives = {
            tile: self._receive(tile, side, coming[i], columns.own[j]) for tile, i, j in self._places if coming[i]
        }
        self._put(side, "border", fills, borders)
        self._put(side, "receive", receives, coming)
        sends = {}
        for tile, i, j in self._places:
            if leaving := all_leaving[i]:
                waits = [*self._rows_made(tile, i, leaving), *self._passed_on(tile, side, rows, i, leaving)]
                sends[tile] = self._send(tile, side, leaving, columns.own[j], waits)
        self._put(side, "send", sends)

    def _columns(self, above: bool | None) -> None:
        """Columns from both sides for the own rows, or (``above`` given) for those above or below them."""
        for from_west in (True, False):
            self._columns_from(from_west, above)

    def _columns_from(self, from_west: bool, above: bool | None) -> None:
        columns, side = self.map.columns, COLUMNS_FROM[from_west]
        corners, fills, receives, sends = {}, {}, {}, {}
        by_line = self._lines_apart and above is None  # at the border, too: so tiles count alike
        bands = [self._band(i, above) for i in range(len(self.map.rows.own))]
        places = range(len(columns.own))
        edges = [(columns.border(j, from_west), columns.received(j, from_west)) for j in places]
        hulls = [hull(edge) if need else range(0) for edge, need in zip(edges, columns.need, strict=True)]
        all_leaving = [columns.sent(j, not from_west) for j in places]
        for tile, i, j in self._places:
            (inside, outside), (border, coming) = bands[i], edges[j]
            if outside and hulls[j]:
                corners[tile] = self._fill(tile, side, outside, hulls[j])
            if inside and border:
                fills[tile] = self._fill(tile, side, inside, border, by_line)
            if inside and coming:
                receives[tile] = self._receive(tile, side, inside, coming, by_line=by_line)
        insides, outsides = ([band[k] for band in bands] for k in (0, 1))
        name = "" if above is None else f"{ROWS_FROM[above]}."
        self._put(side, f"{name}corner", corners, outsides)
        self._put(side, f"{name}border", fills, insides)
        self._put(side, f"{name}receive", receives, insides)
        for tile, i, j in self._places:
            inside, leaving = bands[i][0], all_leaving[j]
            if inside and leaving:
                passed = self._passed_on(tile, side, columns, j, leaving)
                if self._lines_apart and above is None:
                    sends[tile] = self._send_lines(tile, side, inside, leaving, list(passed))
                else:
                    waits = [*self._band_made(tile, inside, above), *passed]
                    sends[tile] = self._send(tile, side, inside, leaving, waits)
        self._put(side, f"{name}send", sends)

    def _band(self, i: int, above: bool | None) -> tuple[range, range]:
        """The rows on the map, and off it, that layers in row i of the grid need above (below) the own rows, or of the
        own ones, these in the order in which they are made.
        """
        need, own, size = self.map.rows.need[i], self.map.rows.own[i], self.map.rows.size
        if above is None and self.map.rows.exchanges and not self._crosses:
            return need, range(0)  # the border beside all rows, wherever they come from
        if above is None:
            return clip(need, own.start, own.stop)[:: self.step], range(0)
        band = clip(need, need.start, own.start) if above else clip(need, own.stop, need.stop)
        return clip(band, 0, size), clip(band, band.start, 0) if above else clip(band, size, band.stop)

    def _rows_made(self, tile: int, i: int, rows: range) -> Iterator[Watcher]:
        """Waits for those of some rows that the tile makes itself."""
        mine = clip(rows, self.map.rows.own[i].start, self.map.rows.own[i].stop)
        made = self.builder.completions[self.name].get(tile)
        if mine and made is not None:
            yield self.builder.counted(made.flag, made.rows(mine))

    def _band_made(self, tile: int, rows: range, above: bool | None) -> Iterator[Watcher]:
        """Waits for rows of a band: own ones one by one, others until all have come."""
        made = self.builder.completions[self.name].get(tile)
        if above is not None:
            yield self.builder.count(tile, self._flags[self._at(tile, ROWS_FROM[above])])
        elif made is not None and self.rows is not None:
            yield self.builder.counted(made.flag, made.rows(rows))
        elif made is not None:
            one_by_one = len(rows) > 1 and len(made.order) > 0
            loop = ("y", 1) if one_by_one else (None, 0)
            yield self.builder.counted(made.flag, made.row(rows[0]), *loop)

    def _passed_on(self, tile: int, side: Side, axis: Axis, place: int, leaving: range) -> Iterator[Watcher]:
        """Waits for what has come from the other neighbour, if some of it is to go on."""
        if clip(leaving, axis.own[place].start, axis.own[place].stop) != leaving:
            yield self.builder.count(tile, self._flags[self._at(tile, side)])

    def _fill(self, tile: int, side: Side, rows: range, columns: range, by_line: bool = False) -> MeshIn | None:
        if self.builder.placement.banded(self.name) and side not in self._read.get(tile, ()):
            return None  # nobody there would wait for it, nor therefore the next band, which comes to the same place
        return self._receive(tile, side, rows, columns, self.zero_point, by_line)

    @cached_property
    def _read(self) -> dict[int, set[Side]]:
        """The sides on which layers read more of the map than a tile's own part, by tile: those that one layer needs
        for a row of the grid and another for a column are not what either needs where these cross.
        """
        sides: dict[int, set[Side]] = {}
        for call in self.builder.partition.calls:
            if self.name in call.reads.values():
                for tile, _ in call.parts(self.builder.placement.maps[call.makes]):
                    sides.setdefault(tile, set()).update(sides_read(self.builder, self.name, call, tile))
        return sides

    def _receive(
        self, tile: int, side: Side, rows: range, columns: range, fill: int | None = None, by_line: bool = False
    ) -> MeshIn | None:
        """Words from the neighbour, or ``fill``; with ``by_line`` each line raises the flag."""
        if not rows or not columns:
            return None
        target, side = self._words(tile, rows, columns), self._at(tile, side)
        by_line = by_line and len(rows) > 1
        key = side, id(target), fill, self._place_free(tile, target), by_line
        if key not in self._received:
            self._received[key] = target, self._receiving(side, target, fill, key[3], by_line)
        return self._received[key][1]

    def _receiving(
        self, side: Side, target: Traversal, fill: int | None, wait: tuple[Watcher, ...], by_line: bool
    ) -> MeshIn:
        if by_line and len(target.nest.loops) == 1:
            target = each_row(target)
        produce = target.nest.loops[by_line and len(target.nest.loops) > 1].name
        return MeshIn(tiles=0, side=side, write=target, fill=fill, wait=wait, produce=produce, layer=self.layer)

    def _place_free(self, tile: int, target: Traversal) -> tuple[Watcher, ...]:
        """Waits for whoever uses the bytes of a tile on which the map lies; and for the tile's own part, if its whole
        wide rows or blocks run on into what is to be written.
        """
        if tile not in self._freed:
            self._freed[tile] = self.builder.free(self.name, tile), self._own(tile)
        free, own = self._freed[tile]
        return (*free, own[1]) if own and self._meet(target, own[0]) else free

    def _own(self, tile: int) -> tuple[Traversal, Watcher] | None:
        """What a tile writes of the map itself, and the wait for that."""
        made, part = self.builder.completions[self.name].get(tile), self.map.part(tile).block
        if made is None:
            return None
        written = made.words or self._words(tile, part.rows, part.columns)
        return written, self.builder.counted(made.flag, made.count)

    def _meet(self, a: Traversal, b: Traversal) -> bool:
        key = id(a), id(b)
        if key not in self._met:
            self._met[key] = a, b, meet(a, b)
        return self._met[key][2]

    def _send(self, tile: int, side: Side, rows: range, columns: range, wait: list[Watcher]) -> MeshOut | None:
        if not rows or not columns:
            return None
        source, side = self._words(tile, rows, columns), self._at(tile, OPPOSITE[side])
        key = side, id(source), (), tuple(wait)
        if key not in self._sent:
            last = source.nest.loops[0].name
            op = MeshOut(tiles=0, side=side, read=source, wait=tuple(wait), produce=last, layer=self.layer)
            self._sent[key] = source, op
        return self._sent[key][1]

    def _send_lines(self, tile: int, side: Side, rows: range, columns: range, wait: list[Watcher]) -> MeshOut | None:
        """Own lines, as they are made or come over the ring."""
        made = self.builder.completions[self.name].get(tile)
        if made is None:
            return self._send(tile, side, rows, columns, wait)
        source, side = self._words(tile, rows, columns), self._at(tile, OPPOSITE[side])
        counts = tuple(made.row(row) for row in rows)
        key: _SendKey = side, id(source), (made.flag, *counts), tuple(wait)
        if key not in self._sent:
            self._sent[key] = source, self._sending_lines(side, source, made.flag, counts, key[3])
        return self._sent[key][1]

    def _sending_lines(
        self, side: Side, source: Traversal, flag: Flag, counts: Sequence[int], wait: tuple[Watcher, ...]
    ) -> MeshOut:
        source, rounds = by_segment(source, counts)
        outer, strict = source.nest.loops[0].name, self.builder.topology.tile.strict_compare
        waits = (*earliest(flag, rounds, strict, outer), *wait)
        return MeshOut(tiles=0, side=side, read=source, wait=waits, produce=outer, layer=self.layer)

    def _words(self, tile: int, rows: range, columns: range) -> Traversal:
        part, word_bytes = self.map.part(tile), self.builder.topology.narrow_memory.word_bytes
        words = len(columns) * part.pixel_bytes // word_bytes
        return block(part.at(rows[0], columns[0]), len(rows), rows.step * part.row_bytes, words, word_bytes)

    def _put(
        self, side: Side, what: str, ops: Mapping[int, MeshIn | MeshOut | None], lines: Sequence[range] = ()
    ) -> None:
        """Append some instructions; what they receive are ``lines`` of the map, by the tile's row of the grid."""
        present, label = {tile: op for tile, op in ops.items() if op is not None}, f"{self.name}.{side}.{what}"
        moved: Mapping[int, Moves] = present
        if self.rows is not None:
            moved = self.rows.write(label, side, present)
        else:
            self.builder.write(label, present)
        self.builder.use(self.name, moved.values())
        if lines:
            self._note_lines(moved, lines)

    def _note_lines(self, moved: Mapping[int, Moves], lines: Sequence[range]) -> None:
        """Remember when each of some lines has come."""
        raises = {id(op): (raised_flag(op), increments(op)) for op in {id(op): op for op in moved.values()}.values()}
        noted = self.builder.lines.setdefault(self.name, {}) if moved else {}
        known: dict[tuple[int, int, int], LineArrivals] = {}  # tiles share them
        for tile, op in moved.items():
            flag, rises = raises[id(op)]
            place, first = self.map.place(tile)[0], self.builder.raised[tile, flag] - rises + 1
            key = id(op), place, first
            if key not in known:
                known[key] = LineArrivals(flag, lines[place], first, by_line=rises > 1)
            noted.setdefault(tile, []).append(known[key])


def _arrivals(before: Counts, early: Counts, full: Counts) -> dict[int, dict[Flag, Arrival]]:
    arrivals: dict[int, dict[Flag, Arrival]] = {}
    for (tile, flag), count in full.items():
        if count > before[tile, flag]:
            first = early[tile, flag] if early[tile, flag] > before[tile, flag] else 0
            arrivals.setdefault(tile, {})[flag] = Arrival(first, count, by_last_rise=count == early[tile, flag] + 1)
    return arrivals
