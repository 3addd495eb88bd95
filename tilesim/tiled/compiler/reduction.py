"""Means over whole maps whose parts lie in several tiles: each adds up its own pixels, the sums go over the ring to
those who read the mean, and each of these adds them up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from tilesim.tiled.compiler.compute import Piece, Pieces, placed, task_of
from tilesim.tiled.compiler.feature_map import FeatureMap, bitmap_of
from tilesim.tiled.compiler.fusion import LayerCall
from tilesim.tiled.compiler.lower.partial_sums import Averaging, lower_sums, lower_total, sums_block
from tilesim.tiled.compiler.parameters import ParameterSets, SetKey
from tilesim.tiled.compiler.partition import Partition
from tilesim.tiled.compiler.program_builder import Completion, ProgramBuilder
from tilesim.tiled.compiler.rows import receive, wide_rows
from tilesim.tiled.compiler.streaming import ParameterStream
from tilesim.tiled.isa.model.fields import Flag, Watcher, bits
from tilesim.tiled.isa.model.instructions import RingConsume, RingProduce, TensorOp


@dataclass(frozen=True)
class Parties:
    """Who has parts of the map ``source``, and who reads the mean ``made``; sums of ``block`` channels make a row."""

    source: FeatureMap
    made: FeatureMap
    block: int

    @property
    def owners(self) -> list[int]:
        return [tile for tile, _ in self.source.parts()]

    @property
    def readers(self) -> list[int]:
        return bits(self.made.tiles)

    @property
    def tiles(self) -> int:
        """All of them."""
        return bitmap_of(sorted({*self.owners, *self.readers}))

    @property
    def rows(self) -> int:
        """Rows of sums that a tile makes."""
        return self.source.pixel_bytes // self.block

    @property
    def all_rows(self) -> int:
        return self.rows * len(self.owners)


def parties_of(builder: ProgramBuilder, call: LayerCall) -> Parties:
    [name] = call.reads.values()
    maps = builder.placement.maps
    return Parties(maps[name], maps[call.makes], sums_block(maps[name].pixel_bytes, builder.topology))


def staging_of(index: int) -> str:
    """What the rows of wide memory are called in which the sums for a mean stand."""
    return f"sums{index}"


def staging_rows_of_sums(partition: Partition) -> dict[str, tuple[int, int]]:
    """Their number, and in which tiles they are."""
    rows = {}
    for call in partition.calls:
        if partition.adds(call.node):
            [name] = call.reads.values()
            source = partition.maps[name]
            parties = Parties(source, partition.made(call.node), sums_block(source.pixel_bytes, partition.topology))
            rows[staging_of(call.node.output)] = parties.all_rows, parties.tiles
    return rows


def lowered_reduction(builder: ProgramBuilder, sets: ParameterSets, call: LayerCall) -> Pieces:
    """The sums of each tile that has a part, then the total of each that reads the mean; rows of sums are counted from
    the first byte of their place.
    """
    builder.steps[call.makes] = 1
    parties, key = parties_of(builder, call), SetKey(call.layer, 0, call.node.title)
    keep = partial(sets.keep, key, parties.tiles)
    pieces: Pieces = {tile: [] for tile in bits(parties.tiles)}
    known: dict[TensorOp, Piece] = {}
    op = call.node.operator
    assert isinstance(op, Averaging)
    for tile in bits(parties.tiles):
        task = replace(task_of(builder, call, tile, 1), keep=keep)
        ops = [lower_sums(task, op, parties.block)] if tile in parties.owners else []
        if tile in parties.readers:
            ops.append(lower_total(task, op, parties.block, len(parties.owners)))
        pieces[tile] = [known.setdefault(op, Piece(op, key)) for op in ops]
    return pieces


@dataclass(frozen=True)
class Reduction:
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
        sums = {tile: (own[0], self._part_waits(tile)) for tile, own in self.pieces.items() if tile in parties.owners}
        self._issue("sums", sums)
        self._exchange()
        totals = {tile: (self.pieces[tile][-1], self._arrival(tile)) for tile in parties.readers}
        labels = self._issue("total", totals)
        builder.completions[call.makes] = {
            tile: Completion(Flag.AVDATA, builder.raised[tile, Flag.AVDATA]) for tile in totals
        }
        builder.labels[call.makes] = labels
        builder.note_call()
        builder.note(call.makes, builder.plan.network.tensors[call.node.output], labels)

    @property
    def _parties(self) -> Parties:
        return parties_of(self.builder, self.call)

    @property
    def _row_bytes(self) -> int:
        return self.builder.topology.wide_memory.row_bytes

    def _issue(self, what: str, pieces: dict[int, tuple[Piece, tuple[Watcher, ...]]]) -> dict[int, str]:
        self.stream.advance()
        known: dict[object, TensorOp] = {}
        ops = {
            tile: self._staged(placed(self.builder, self.stream, tile, piece, wait, known))
            for tile, (piece, wait) in pieces.items()
        }
        labels = self.builder.write(f"{self.call.label}.{what}", ops)
        self.stream.use({tile: piece.key for tile, (piece, _) in pieces.items()})
        return labels

    def _staged(self, op: TensorOp) -> TensorOp:
        """The tensorop with its rows of sums in their place."""
        sums_in, sums_out = (
            rows and replace(rows, base=rows.base + self.staging) for rows in (op.sums_in, op.sums_out)
        )
        return replace(op, sums_in=sums_in, sums_out=sums_out)

    def _part_waits(self, tile: int) -> tuple[Watcher, ...]:
        """A tile sums up nothing but its own pixels."""
        [name] = self.call.reads.values()
        made = self.builder.completions[name][tile]
        return () if made.flag is Flag.AVDATA else (self.builder.counted(made.flag, made.count),)

    def _exchange(self) -> None:
        """The sums of each tile to all who read the mean, one after the other."""
        builder, name, parties = self.builder, staging_of(self.call.node.output), self._parties
        senders = [tile for tile in parties.owners if self._to(tile)]
        # The first master's turn may take a fence, which must not wait for the consumers that are posted here.
        turn = builder.turn(senders[0])
        before, after = (self._receives(number) for number in (0, 1))
        # A sender posts the second after its own rows: in one queue for both roles, it would hold those up.
        after_sending = {tile: {tile: after.pop(tile)} for tile in senders if tile in after}
        builder.write(f"{name}.receive0", before)
        builder.write(f"{name}.receive1", after)
        for tile in senders:
            self._send(tile, turn if tile == senders[0] else builder.turn(tile))
            builder.write(f"{name}.receive1.t{tile}", after_sending.get(tile, {}))

    def _to(self, tile: int) -> int:
        """Who reads the sums of a tile, other than itself."""
        return self._parties.made.tiles & ~(1 << tile)

    def _receives(self, number: int) -> dict[int, RingConsume]:
        """A consumer in each reader for the rows of the tiles before (0) or behind (1) it."""
        parties, consumers = self._parties, {}
        for tile in parties.readers:
            before = sum(owner < tile for owner in parties.owners)
            behind = sum(owner > tile for owner in parties.owners)
            first = (tile in parties.owners) + (before if number else 0)
            if owners := behind if number else before:
                address = self.staging + first * parties.rows * self._row_bytes
                consumers[tile] = receive(
                    wide_rows(address, owners * parties.rows, self._row_bytes), (), self.call.layer
                )
        return consumers

    def _send(self, tile: int, turn: tuple[Watcher, ...]) -> None:
        builder, to = self.builder, self._to(tile)
        op = RingProduce(
            tiles=0,
            read=wide_rows(self.staging, self._parties.rows, self._row_bytes),
            to=to,
            wait=(builder.count(tile, Flag.PARTIAL_SUMS), *turn),
            layer=self.call.layer,
        )
        builder.write(f"{staging_of(self.call.node.output)}.send{tile}", {tile: op})
        builder.send(tile, to)

    def _arrival(self, tile: int) -> tuple[Watcher, ...]:
        """All rows have come when the last one has; a block's, when so many of the last tile's have."""
        builder, rows = self.builder, self._parties.rows
        count = builder.raised[tile, Flag.RING_READ_A]
        return (builder.counted(Flag.RING_READ_A, count - rows + 1, *(("zb", 1) if rows > 1 else ())),)
