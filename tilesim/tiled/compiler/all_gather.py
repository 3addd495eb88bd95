"""All parts of a map to each tile that reads the whole of it: over the ring, one owner after the other."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from tilesim.tiled.compiler.feature_map import FeatureMap, MapPart, bits
from tilesim.tiled.compiler.names import copy_name, map_name
from tilesim.tiled.compiler.partition import Partition
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.rows import copied_words, each_row, part_words, rows_for, rows_of, sent, wide_rows
from tilesim.tiled.isa.model.fields import Flag, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import NarrowToWide, RingConsume, RingProduce, WideToNarrow


@dataclass(frozen=True)
class PartRows:
    """The wide rows through which an owner's part goes, at the same address in all tiles."""

    tile: int
    part: MapPart
    rows: Traversal


@dataclass(frozen=True)
class AllGather:
    """The copying of tensor ``index`` into every tile that reads it whole; ``staging`` holds the rows of all parts."""

    builder: ProgramBuilder
    index: int
    staging: int
    layer: int

    def write(self) -> None:
        """Append all instructions; those that reuse a place wait until each tile is through with what was there."""
        builder, copy = self.builder, copy_name(self.index)
        builder.release(copy)
        slots = self._slots()
        packs = {slot.tile: self._pack(slot) for slot in slots}
        builder.write(f"{copy}.pack", packs)
        builder.use(map_name(self.index), packs.values())
        senders = [slot for slot in slots if self._to(slot)]
        # The first master's turn may take a fence, which must not wait for the consumers that are posted here.
        turn = builder.turn(senders[0].tile) if senders else ()
        before, after = (self._receives(slots, number) for number in (0, 1))  # the reader's own part
        # A sender posts the second after its part: in one queue for both roles, it would hold that up.
        late = {slot.tile: {slot.tile: after.pop(slot.tile)} for slot in senders if slot.tile in after}
        builder.write(f"{copy}.receive0", before)
        builder.write(f"{copy}.receive1", after)
        for slot in senders:
            self._send(slot, turn if slot is senders[0] else builder.turn(slot.tile))
            builder.write(f"{copy}.receive1.t{slot.tile}", late.get(slot.tile, {}))
        unpacks = {tile: self._unpack(tile, slots) for tile in bits(self._copy.tiles)}
        builder.write(f"{copy}.unpack", unpacks)
        builder.use(copy, unpacks.values())
        builder.note_unpacked(copy, unpacks)
        if self._shares:
            self._leave({slot.tile for slot in senders}, unpacks)

    @property
    def _shares(self) -> bool:
        return self.index in self.builder.spread.turns

    @property
    def _left(self) -> dict[int, tuple[Watcher, ...]]:
        """What each tile has to wait for before it uses the place again."""
        return self.builder.staged.setdefault(staging_name(self.builder.spread, self.index), {})

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

    def _slots(self) -> list[PartRows]:
        row_bytes = self.builder.topology.wide_memory.row_bytes
        address, parts = self.staging, []
        for tile in bits(self._map.tiles):
            part = sent(self._map, self._copy, tile)
            rows = rows_for(part, row_bytes)
            parts.append(PartRows(tile, part, wide_rows(address, rows, row_bytes)))
            address += rows * row_bytes
        return parts

    def _pack(self, slot: PartRows) -> NarrowToWide:
        topology = self.builder.topology
        words = part_words(slot.part, topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes)
        wait = (*self.builder.complete(map_name(self.index), slot.tile), *self._free(slot.tile))
        return NarrowToWide(tiles=0, read=words, write=slot.rows, wait=wait, produce="r", layer=self.layer)

    def _receives(self, slots: list[PartRows], number: int) -> dict[int, RingConsume]:
        """A consumer in each reader for the parts before (0) or after (1) its own."""
        row_bytes, consumers = self.builder.topology.wide_memory.row_bytes, {}
        for tile in bits(self._copy.tiles):
            wanted = [slot for slot in slots if slot.tile != tile and (slot.tile > tile) == bool(number)]
            if wanted:
                rows = sum(rows_of(slot.rows) for slot in wanted)
                target = wide_rows(wanted[0].rows.reference.base, rows, row_bytes)
                target = each_row(target) if rows > 1 else target
                row_loop = target.nest.loops[-1].name
                wait = self._free(tile)
                consumers[tile] = RingConsume(tiles=0, write=target, wait=wait, produce=row_loop, layer=self.layer)
        return consumers

    def _free(self, tile: int) -> tuple[Watcher, ...]:
        return self._left.get(tile, ()) if self._shares else ()

    def _to(self, slot: PartRows) -> int:
        """Who reads a part, other than its owner."""
        return self._copy.tiles & ~(1 << slot.tile)

    def _send(self, slot: PartRows, turn: tuple[Watcher, ...]) -> None:
        builder, to = self.builder, self._to(slot)
        wait = (builder.count(slot.tile, Flag.NARROW_TO_WIDE), *turn)
        produce = "r" if self._shares else None
        op = RingProduce(tiles=0, read=slot.rows, to=to, wait=wait, produce=produce, layer=self.layer)
        builder.write(f"{copy_name(self.index)}.send{slot.tile}", {slot.tile: op})
        builder.send(slot.tile, to)

    def _unpack(self, tile: int, slots: list[PartRows]) -> WideToNarrow:
        builder, topology = self.builder, self.builder.topology
        row_bytes, word_bytes = topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes
        own = [slot for slot in slots if slot.tile == tile]
        waits = [builder.count(tile, Flag.NARROW_TO_WIDE)] if own else [*self._free(tile)]
        waits += self._arrivals(tile, slots, own) if slots != own else []
        return WideToNarrow(
            tiles=0,
            read=wide_rows(self.staging, sum(rows_of(slot.rows) for slot in slots), row_bytes),
            write=copied_words(self._map, self._copy, tile, row_bytes, word_bytes),
            wait=(*waits, *builder.free(copy_name(self.index), tile)),
            produce="r",
            layer=self.layer,
        )

    def _arrivals(self, tile: int, slots: list[PartRows], own: list[PartRows]) -> list[Watcher]:
        """Waits for the rows from the ring: one by one, unless the reader's own ones lie between them."""
        count, rows = self.builder.raised[tile, Flag.RING_READ_A], sum(rows_of(slot.rows) for slot in slots)
        if own and own != slots[:1]:
            return [self.builder.counted(Flag.RING_READ_A, count)]
        return [self.builder.counted(Flag.RING_READ_A, count - rows + 1, "r", 1)]


PLACES = 2
"""Copies that layers which are spread by channel make necessary take turns in as many places of wide memory: a place is
free again when all have got the copy before the last.
"""


def staging_name(spread: Partition, index: int) -> str:
    """What the rows of wide memory are called through which a copy of a tensor goes."""
    turn = spread.turns.get(index)
    return copy_name(index) if turn is None else f"copies{turn % PLACES}"


def staging_rows_of_copies(
    spread: Partition, maps: Mapping[str, FeatureMap], row_bytes: int
) -> dict[str, tuple[int, int]]:
    """The wide rows for the copies among some maps, and in which tiles, by the name of their place."""
    rows_by_place: dict[str, tuple[int, int]] = {}
    for index in spread.whole:
        copy = maps.get(copy_name(index))
        if copy is not None:
            map_, name = maps[map_name(index)], staging_name(spread, index)
            rows, tiles = rows_by_place.get(name, (0, 0))
            rows_by_place[name] = max(rows, gather_rows(map_, copy, row_bytes)), tiles | map_.tiles | copy.tiles
    return rows_by_place


def gather_rows(map_: FeatureMap, copy: FeatureMap, row_bytes: int) -> int:
    """Wide rows for all parts of a map."""
    return sum(rows_for(sent(map_, copy, tile), row_bytes) for tile in bits(map_.tiles))
