"""All parts of a map to each tile that reads the whole of it: over the ring, one owner after the other."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.tiled.compiler.draft import Draft
from tilesim.tiled.compiler.feature_map import FeatureMap, Part, bits
from tilesim.tiled.compiler.names import copy_name, map_name
from tilesim.tiled.compiler.rows import copied_words, each_row, part_words, rows_for, rows_of, sent, wide_rows
from tilesim.tiled.isa.fields import Flag, Traversal, Watcher
from tilesim.tiled.isa.instructions import NarrowToWide, RingConsume, RingProduce, WideToNarrow


@dataclass(frozen=True)
class Slot:
    """The wide rows through which an owner's part goes, at the same address in all tiles."""

    tile: int
    part: Part
    rows: Traversal


@dataclass(frozen=True)
class Gather:
    """The copying of tensor ``index`` into every tile that reads it whole; ``staging`` holds the rows of all parts."""

    draft: Draft
    index: int
    staging: int
    layer: int

    def write(self) -> None:
        draft, copy = self.draft, copy_name(self.index)
        draft.release(copy)
        slots = self._slots()
        packs = {slot.tile: self._pack(slot) for slot in slots}
        draft.write(f"{copy}.pack", packs)
        draft.use(map_name(self.index), packs.values())
        senders = [slot for slot in slots if self._to(slot)]
        # The first master's turn may take a fence, which must not wait for the consumers that are posted here.
        turn = draft.turn(senders[0].tile) if senders else ()
        for number in (0, 1):  # before the reader's own part, and after it
            draft.write(f"{copy}.receive{number}", self._receives(slots, number))
        for slot in senders:
            self._send(slot, turn if slot is senders[0] else draft.turn(slot.tile))
        unpacks = {tile: self._unpack(tile, slots) for tile in bits(self._copy.tiles)}
        draft.write(f"{copy}.unpack", unpacks)
        draft.use(copy, unpacks.values())
        draft.note_unpacked(copy, unpacks)

    @property
    def _copy(self) -> FeatureMap:
        return self.draft.placement.maps[copy_name(self.index)]

    @property
    def _map(self) -> FeatureMap:
        return self.draft.placement.maps[map_name(self.index)]

    def _slots(self) -> list[Slot]:
        row_bytes = self.draft.topology.wide_memory.row_bytes
        address, found = self.staging, []
        for tile in bits(self._map.tiles):
            part = sent(self._map, self._copy, tile)
            rows = rows_for(part, row_bytes)
            found.append(Slot(tile, part, wide_rows(address, rows, row_bytes)))
            address += rows * row_bytes
        return found

    def _pack(self, slot: Slot) -> NarrowToWide:
        topology = self.draft.topology
        words = part_words(slot.part, topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes)
        wait = self.draft.complete(map_name(self.index), slot.tile)
        return NarrowToWide(tiles=0, read=words, write=slot.rows, wait=wait, produce="r", layer=self.layer)

    def _receives(self, slots: list[Slot], number: int) -> dict[int, RingConsume]:
        """A consumer in each reader for the parts before (0) or after (1) its own."""
        row_bytes, found = self.draft.topology.wide_memory.row_bytes, {}
        for tile in bits(self._copy.tiles):
            wanted = [slot for slot in slots if slot.tile != tile and (slot.tile > tile) == bool(number)]
            if wanted:
                rows = sum(rows_of(slot.rows) for slot in wanted)
                target = wide_rows(wanted[0].rows.reference.base, rows, row_bytes)
                target = each_row(target) if rows > 1 else target
                each = target.nest.loops[-1].name
                found[tile] = RingConsume(tiles=0, write=target, produce=each, layer=self.layer)
        return found

    def _to(self, slot: Slot) -> int:
        """Who reads a part, other than its owner."""
        return self._copy.tiles & ~(1 << slot.tile)

    def _send(self, slot: Slot, turn: tuple[Watcher, ...]) -> None:
        draft, to = self.draft, self._to(slot)
        wait = (draft.count(slot.tile, Flag.NARROW_TO_WIDE), *turn)
        op = RingProduce(tiles=0, read=slot.rows, to=to, wait=wait, layer=self.layer)
        draft.write(f"{copy_name(self.index)}.send{slot.tile}", {slot.tile: op})
        draft.send(slot.tile, to)

    def _unpack(self, tile: int, slots: list[Slot]) -> WideToNarrow:
        draft, topology = self.draft, self.draft.topology
        row_bytes, word_bytes = topology.wide_memory.row_bytes, topology.narrow_memory.word_bytes
        own = [slot for slot in slots if slot.tile == tile]
        waits = [draft.count(tile, Flag.NARROW_TO_WIDE)] if own else []
        waits += self._arrivals(tile, slots, own) if slots != own else []
        return WideToNarrow(
            tiles=0,
            read=wide_rows(self.staging, sum(rows_of(slot.rows) for slot in slots), row_bytes),
            write=copied_words(self._map, self._copy, tile, row_bytes, word_bytes),
            wait=(*waits, *draft.free(copy_name(self.index), tile)),
            produce="r",
            layer=self.layer,
        )

    def _arrivals(self, tile: int, slots: list[Slot], own: list[Slot]) -> list[Watcher]:
        """Waits for the rows from the ring: one by one, unless the reader's own ones lie between them."""
        count, rows = self.draft.raised[tile, Flag.RING_READ_A], sum(rows_of(slot.rows) for slot in slots)
        if own and own != slots[:1]:
            return [self.draft.counted(Flag.RING_READ_A, count)]
        return [self.draft.counted(Flag.RING_READ_A, count - rows + 1, "r", 1)]


def gather_rows(map_: FeatureMap, copy: FeatureMap, row_bytes: int) -> int:
    """Wide rows for all parts of a map."""
    return sum(rows_for(sent(map_, copy, tile), row_bytes) for tile in bits(map_.tiles))
