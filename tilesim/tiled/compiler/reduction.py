"""Means over whole maps whose parts lie in several tiles: each adds up its own pixels, the sums go over the ring to
those who read the mean, and each of these adds them up. Where there are many, each half of the tiles first adds up its
own in its last tile, both halves at once: two masters, whose groups have no node in common.

Source: US 2025/0265455 [0036] for two masters; that sums go over the ring is an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from tilesim.tiled.compiler.compute import Piece, Pieces, placed, task_of
from tilesim.tiled.compiler.feature_map import FeatureMap, bitmap_of
from tilesim.tiled.compiler.fusion import LayerCall
from tilesim.tiled.compiler.lower.totals import Averaging, lower_added, lower_sums, lower_total, sums_block, sums_rows
from tilesim.tiled.compiler.parameters import KeepsParameters, SetKey
from tilesim.tiled.compiler.partition import Partition
from tilesim.tiled.compiler.program_builder import Completion, ProgramBuilder
from tilesim.tiled.compiler.rows import receive, wide_rows
from tilesim.tiled.compiler.streaming import ParameterStream
from tilesim.tiled.compiler.sums_cycles import halves_pay
from tilesim.tiled.isa.model.fields import Channel, Flag, Watcher, bits
from tilesim.tiled.isa.model.instructions import RingConsume, RingProduce, TensorOp
from tilesim.tiled.topology import Topology

Waits = tuple[Watcher, ...]


class Parties(Struct, frozen=True, dict=True):
    """Who has parts of the map ``source``, and who reads the mean ``made``; the sums of ``block`` channels leave at
    once. A tile makes ``rows`` of sums.
    """

    source: FeatureMap
    made: FeatureMap
    block: int
    rows: int

    @classmethod
    def of(cls, source: FeatureMap, made: FeatureMap, topology: Topology) -> Parties:
        block = sums_block(source.pixel_bytes, topology)
        return cls(source, made, block, sums_rows(source.pixel_bytes // block, topology))

    @cached_property
    def owners(self) -> list[int]:
        """Along the ring, whichever way the map lies on the grid: halves must not overlap there."""
        return sorted(tile for tile, _ in self.source.parts())

    @property
    def readers(self) -> list[int]:
        return bits(self.made.tiles)

    @property
    def tiles(self) -> int:
        """All of them."""
        return bitmap_of(sorted({*self.owners, *self.readers}))

    @cached_property
    def halves(self) -> list[list[int]]:
        """The owners in two halves, each of which adds up its sums first; or none."""
        owners, half = self.owners, -(-len(self.owners) // 2)
        return [owners[:half], owners[half:]] if halves_pay(len(owners), self.rows) else []

    @property
    def leaders(self) -> list[int]:
        """The last tile of each half: to it nobody's way leads past the other half."""
        return [half[-1] for half in self.halves]

    @property
    def senders(self) -> list[int]:
        """Those whose rows the readers add up."""
        return self.leaders or self.owners

    @property
    def first_row(self) -> int:
        """The first of the rows that the readers add up."""
        return len(self.halves[0]) * self.rows if self.halves else 0

    @property
    def all_rows(self) -> int:
        """What is to be there of rows."""
        return self.first_row + len(self.senders) * self.rows


def parties_of(builder: ProgramBuilder, call: LayerCall) -> Parties:
    [name] = call.reads.values()
    maps = builder.placement.maps
    return Parties.of(maps[name], maps[call.makes], builder.topology)


def staging_of(index: int) -> str:
    """What the rows of wide memory are called in which the sums for a mean stand."""
    return f"sums{index}"


def staging_rows_of_sums(partition: Partition) -> dict[str, tuple[int, int]]:
    """Their number, and in which tiles they are."""
    rows = {}
    for call in partition.calls:
        if partition.adds(call.node):
            [name] = call.reads.values()
            parties = Parties.of(partition.maps[name], partition.made(call.node), partition.topology)
            rows[staging_of(call.node.output)] = parties.all_rows, parties.tiles
    return rows


def lowered_reduction(builder: ProgramBuilder, sets: KeepsParameters, call: LayerCall) -> Pieces:
    """The sums of each tile that has a part, those of a half in its last tile, then the total of each that reads the
    mean; rows of sums are counted from the first byte of their place.
    """
    builder.steps[call.makes] = 1
    parties, key = parties_of(builder, call), SetKey(call.layer, 0, call.node.title)
    keep = partial(sets.keep, key, parties.tiles)
    pieces: Pieces = {}
    known: dict[TensorOp, Piece] = {}
    op = call.node.operator
    assert isinstance(op, Averaging)
    for tile in bits(parties.tiles):
        task = replace(task_of(builder, call, tile, 1), keep=keep)
        ops = [lower_sums(task, op, parties.block)] if tile in parties.owners else []
        ops += [
            lower_added(task, parties.block, len(half), parties.first_row)
            for half in parties.halves
            if tile == half[-1]
        ]
        if tile in parties.readers:
            ops.append(lower_total(task, op, parties.block, len(parties.senders), parties.first_row))
        sums = staging_of(call.node.output)
        pieces[tile] = [known.setdefault(each, Piece(each, key, sums=sums)) for each in ops]
    return pieces


class Reduction(Struct, frozen=True, dict=True):
    """The instructions of such a layer; ``staging`` is where the rows of sums stand: in each tile its own first, if it
    has any, then those of the others in their order.
    """

    builder: ProgramBuilder
    stream: ParameterStream
    call: LayerCall
    pieces: Pieces
    staging: int

    def write(self) -> None:
        builder, call, parties = self.builder, self.call, self._parties
        builder.release(call.makes)
        self.stream.advance()
        self._issue("sums", {tile: (self.pieces[tile][0], self._part_waits(tile)) for tile in parties.owners})
        self._end_round()
        if parties.halves:
            self._add_halves()
        self._exchange()
        self.stream.advance()
        totals = {tile: (self.pieces[tile][-1], self._arrival(tile, parties.rows)) for tile in parties.readers}
        labels = self._issue("total", totals)
        self._end_round()
        builder.completions[call.makes] = {
            tile: Completion(Flag.AVDATA, builder.raised[tile, Flag.AVDATA]) for tile in totals
        }
        builder.labels[call.makes] = labels
        builder.note_call()
        builder.note(call.makes, builder.plan.network.tensors[call.node.output], labels)

    @cached_property
    def _parties(self) -> Parties:
        return parties_of(self.builder, self.call)

    @property
    def _name(self) -> str:
        return staging_of(self.call.node.output)

    def _issue(self, what: str, pieces: Mapping[int, tuple[Piece, Waits]]) -> dict[int, str]:
        known: dict[object, TensorOp] = {}
        ops = {
            tile: placed(self.builder, self.stream, tile, piece, wait, known) for tile, (piece, wait) in pieces.items()
        }
        labels = self.builder.write(f"{self.call.label}.{what}", ops)
        self.stream.note({tile: piece.key for tile, (piece, _) in pieces.items()})
        return labels

    def _end_round(self) -> None:
        self.stream.use({})

    def _part_waits(self, tile: int) -> Waits:
        """A tile sums up nothing but its own pixels."""
        [name] = self.call.reads.values()
        made = self.builder.completions[name][tile]
        return () if made.flag is Flag.AVDATA else (self.builder.counted(made.flag, made.count),)

    def _add_halves(self) -> None:
        """The sums of each half to its last tile, the halves side by side, and added up there. Nothing but the last
        tile of the second half knows when that half is through: a fence holds what comes then.
        """
        builder, parties = self.builder, self._parties
        turns = [builder.turn(half[0]) for half in parties.halves]  # both behind all that came before
        others = {half[-1]: self._receive(1, len(half) - 1) for half in parties.halves if half[1:]}
        builder.write(f"{self._name}.half.receive", others)
        last = builder.last.get(Channel.A)
        for tiles in zip_longest(*(half[:-1] for half in parties.halves)):
            for half, tile, first in zip(parties.halves, tiles, turns, strict=True):
                if tile is not None:
                    turn = first if tile == half[0] else builder.passed(tile)
                    self._send(f"half.send{tile}", tile, 1 << half[-1], 0, turn)
                    last = builder.last[Channel.A] if half is parties.halves[0] else last
        arrivals = {tile: self._arrival(tile, parties.rows) for tile in others}
        self._issue("half", {tile: (self.pieces[tile][1], arrivals.get(tile, ())) for tile in parties.leaders})
        if self._rounds > 2:
            self._end_round()
        builder.fence_consumer(parties.leaders[1])
        builder.last[Channel.A] = last  # of the first half: the second is over

    @property
    def _rounds(self) -> int:
        """As the parameters were planned for."""
        return max(map(len, self.pieces.values()))

    def _exchange(self) -> None:
        """The sums of each sender to all who read the mean, one after the other."""
        builder, parties = self.builder, self._parties
        senders = [tile for tile in parties.senders if self._to(tile)]
        # The first master's turn may take a fence, which must not wait for the consumers that are posted here.
        turn = builder.turn(senders[0])
        before, after = (self._receives(number) for number in (0, 1))
        # A sender posts the second after its own rows: in one queue for both roles, it would hold those up.
        after_sending = {tile: {tile: after.pop(tile)} for tile in senders if tile in after}
        builder.write(f"{self._name}.receive0", before)
        builder.write(f"{self._name}.receive1", after)
        for tile in senders:
            own_turn = turn if tile is senders[0] else builder.turn(tile)
            self._send(f"send{tile}", tile, self._to(tile), parties.first_row, own_turn)
            builder.write(f"{self._name}.receive1.t{tile}", after_sending.get(tile, {}))

    def _to(self, tile: int) -> int:
        """Who reads the sums of a tile, other than itself."""
        return self._parties.made.tiles & ~(1 << tile)

    def _receives(self, number: int) -> dict[int, RingConsume]:
        """A consumer in each reader for the rows of the senders before (0) or behind (1) it."""
        parties, consumers = self._parties, {}
        for tile in parties.readers:
            before = sum(sender < tile for sender in parties.senders)
            behind = sum(sender > tile for sender in parties.senders)
            first = (tile in parties.senders) + (before if number else 0)
            if senders := behind if number else before:
                consumers[tile] = self._receive(first, senders, parties.first_row)
        return consumers

    def _receive(self, first: int, parts: int, row: int = 0) -> RingConsume:
        """What so many senders send goes behind what the ``first`` have sent; those begin at a row."""
        row_bytes, rows = self.builder.topology.wide_memory.row_bytes, self._parties.rows
        address = self.staging + (row + first * rows) * row_bytes
        return receive(wide_rows(address, parts * rows, row_bytes), (), self.call.layer)

    def _send(self, what: str, tile: int, to: int, row: int, turn: Waits) -> None:
        builder, row_bytes = self.builder, self.builder.topology.wide_memory.row_bytes
        read = wide_rows(self.staging + row * row_bytes, self._parties.rows, row_bytes)
        wait = (builder.count(tile, Flag.PARTIAL_SUMS), *turn)
        op = RingProduce(tiles=0, read=read, to=to, wait=wait, layer=self.call.layer)
        builder.write(f"{self._name}.{what}", {tile: op})
        builder.send(tile, to)

    def _arrival(self, tile: int, rows: int) -> Waits:
        """All rows have come when the last one has; a block's, when so many of the last tile's have, if it has a row to
        itself.
        """
        count = self.builder.raised[tile, Flag.RING_READ_A]
        if self._parties.source.pixel_bytes // self._parties.block > rows:
            return (self.builder.counted(Flag.RING_READ_A, count),)
        return (self.builder.counted(Flag.RING_READ_A, count - rows + 1, *(("zb", 1) if rows > 1 else ())),)
