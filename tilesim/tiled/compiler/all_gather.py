"""All parts of a map to each tile that reads the whole of it: over the ring, one owner after the other."""

from __future__ import annotations

from collections.abc import Container, Mapping

from msgspec import Struct

from tilesim.tiled.compiler.feature_map import FeatureMap, MapPart, copy_name, map_name
from tilesim.tiled.compiler.partition import Partition
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.rows import copied_words, part_words, receive, rows_for, rows_of, sent, wide_rows
from tilesim.tiled.isa.model.fields import Flag, Traversal, Watcher, bits
from tilesim.tiled.isa.model.instructions import NarrowToWide, RingConsume, RingProduce, WideToNarrow


class Owner(Struct, frozen=True):
    """A tile with a part of the map, and the wide rows through which that goes, at the same address in all tiles."""

    tile: int
    part: MapPart
    rows: Traversal


class AllGather(Struct, frozen=True):
    """The copying of tensor ``index`` into every tile that reads it whole; ``staging`` holds the rows of all parts."""

    builder: ProgramBuilder
    index: int
    staging: int
    layer: int

    def write(self) -> None:
        """Append all instructions; those that reuse a place wait until each tile is through with what was there."""
        builder, copy = self.builder, copy_name(self.index)
        builder.release(copy)
        owners = self._owners()
        packs = {owner.tile: self._pack(owner) for owner in owners}
        builder.write(f"{copy}.pack", packs)
        builder.use(map_name(self.index), packs.values())
        senders = [owner for owner in owners if self._to(owner)]
        # The first master's turn may take a fence, which must not wait for the consumers that are posted here.
        turn = builder.turn(senders[0].tile) if senders else ()
        before, after = (self._receives(owners, number) for number in (0, 1))  # the reader's own part
        # A sender posts the second after its owner: in one queue for both roles, it would hold that up.
        after_sending = {owner.tile: {owner.tile: after.pop(owner.tile)} for owner in senders if owner.tile in after}
        builder.write(f"{copy}.receive0", before)
        builder.write(f"{copy}.receive1", after)
        for owner in senders:
            self._send(owner, turn if owner is senders[0] else builder.turn(owner.tile))
            builder.write(f"{copy}.receive1.t{owner.tile}", after_sending.get(owner.tile, {}))
        unpacks = {tile: self._unpack(tile, owners) for tile in bits(self._copy.tiles)}
        builder.write(f"{copy}.unpack", unpacks)
        builder.use(copy, unpacks.values())
        builder.note_unpacked(copy, unpacks)
        if self._shares:
            self._leave({owner.tile for owner in senders}, unpacks)

    @property
    def _shares(self) -> bool:
        return self.index in self.builder.partition.turns

    @property
    def _left(self) -> dict[int, tuple[Watcher, ...]]:
        """What each tile has to wait for before it uses the place again."""
        return self.builder.staged.setdefault(staging_name(self.builder.partition, self.index), {})

    def _leave(self, senders: Container[int], unpacks: Container[int]) -> None:
        for tile in range(self.builder.topology.tiles):
            done = [Flag.RING_WRITE] * (tile in senders) + [Flag.WIDE_TO_NARROW] * (tile in unpacks)
            if done:
                self._left[tile] = tuple(self.builder.count(tile, flag) for flag in done)

    @property
    def _copy(self) -> FeatureMap:
        return self.builder.placement.maps[copy_name(self.index)]

    @property
    def _map(self) -> FeatureMap:
        return self.builder.placement.maps[map_name(self.index)]

    def _owners(self) -> list[Owner]:
        row_bytes = self.builder.topology.wide_memory.row_bytes
        address, owners = self.staging, []
        for tile in self._map.owners:
            part = sent(self._map, self._copy, tile)
            rows = rows_for(part, row_bytes)
            owners.append(Owner(tile, part, wide_rows(address, rows, row_bytes)))
            address += rows * row_bytes
        return owners

    def _pack(self, owner: Owner) -> NarrowToWide:
        topology = self.builder.topology
        words = part_words(owner.part, topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes)
        wait = (*self.builder.complete(map_name(self.index), owner.tile), *self._free(owner.tile))
        return NarrowToWide(tiles=0, read=words, write=owner.rows, wait=wait, produce="r", layer=self.layer)

    def _receives(self, owners: list[Owner], number: int) -> dict[int, RingConsume]:
        """A consumer in each reader for the owners before (0) or after (1) its own."""
        row_bytes, consumers = self.builder.topology.wide_memory.row_bytes, {}
        for tile in bits(self._copy.tiles):
            wanted = [
                owner
                for owner in owners
                if owner.tile != tile and (self._map.turn(owner.tile) > self._map.turn(tile)) == bool(number)
            ]
            if wanted:
                rows = sum(rows_of(owner.rows) for owner in wanted)
                target = wide_rows(wanted[0].rows.reference.base, rows, row_bytes)
                consumers[tile] = receive(target, self._free(tile), self.layer)
        return consumers

    def _free(self, tile: int) -> tuple[Watcher, ...]:
        return self._left.get(tile, ()) if self._shares else ()

    def _to(self, owner: Owner) -> int:
        """Who reads a part, other than its owner."""
        return self._copy.tiles & ~(1 << owner.tile)

    def _send(self, owner: Owner, turn: tuple[Watcher, ...]) -> None:
        builder, to = self.builder, self._to(owner)
        wait = (builder.count(owner.tile, Flag.NARROW_TO_WIDE), *turn)
        produce = "r" if self._shares else None
        op = RingProduce(tiles=0, read=owner.rows, to=to, wait=wait, produce=produce, layer=self.layer)
        builder.write(f"{copy_name(self.index)}.send{owner.tile}", {owner.tile: op})
        builder.send(owner.tile, to)

    def _unpack(self, tile: int, owners: list[Owner]) -> WideToNarrow:
        builder, topology = self.builder, self.builder.topology
        row_bytes, word_bytes = topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes
        own = [owner for owner in owners if owner.tile == tile]
        waits = [builder.count(tile, Flag.NARROW_TO_WIDE)] if own else [*self._free(tile)]
        waits += self._arrivals(tile, owners, own) if owners != own else []
        return WideToNarrow(
            tiles=0,
            read=wide_rows(self.staging, sum(rows_of(owner.rows) for owner in owners), row_bytes),
            write=copied_words(self._map, self._copy, tile, row_bytes, word_bytes),
            wait=(*waits, *builder.free(copy_name(self.index), tile)),
            produce="r",
            layer=self.layer,
        )

    def _arrivals(self, tile: int, owners: list[Owner], own: list[Owner]) -> list[Watcher]:
        """Waits for the rows from the ring: one by one, unless the reader's own ones lie between them."""
        count, rows = self.builder.raised[tile, Flag.RING_READ_A], sum(rows_of(owner.rows) for owner in owners)
        if own and own != owners[:1]:
            return [self.builder.counted(Flag.RING_READ_A, count)]
        return [self.builder.counted(Flag.RING_READ_A, count - rows + 1, "r", 1)]


PLACES = 2
"""Copies that layers which are spread by channel make necessary take turns in as many places of wide memory: a place is
free again when all have got the copy before the last.
"""


def staging_name(partition: Partition, index: int) -> str:
    """What the rows of wide memory are called through which a copy of a tensor goes."""
    turn = partition.turns.get(index)
    return copy_name(index) if turn is None else f"copies{turn % PLACES}"


def staging_rows_of_copies(
    partition: Partition, maps: Mapping[str, FeatureMap], row_bytes: int
) -> dict[str, tuple[int, int]]:
    """The wide rows for the copies among some maps, and in which tiles, by the name of their place."""
    rows_by_place: dict[str, tuple[int, int]] = {}
    for index in partition.whole:
        copy = maps.get(copy_name(index))
        if copy is not None:
            map_, name = maps[map_name(index)], staging_name(partition, index)
            rows, tiles = rows_by_place.get(name, (0, 0))
            rows_by_place[name] = max(rows, gather_rows(map_, copy, row_bytes)), tiles | map_.tiles | copy.tiles
    return rows_by_place


def gather_rows(map_: FeatureMap, copy: FeatureMap, row_bytes: int) -> int:
    """Wide rows for all parts of a map."""
    return sum(rows_for(sent(map_, copy, tile), row_bytes) for tile in bits(map_.tiles))
