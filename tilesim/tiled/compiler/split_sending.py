"""The way of a set of parameters that has several home tiles: over the ring, each tile's run in its turn, to all who
need it; and back to each home tile its own run, from another tile that has got it, as no packet comes to its sender.

Source: US 2025/0265455 [0047], [0065], [0067]; that a tile's own run comes back from another one is an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from tilesim.tiled.compiler.parameters import SetKey
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.rows import wide_rows
from tilesim.tiled.compiler.wide_layout import KeptRun, WideLayout
from tilesim.tiled.isa.model.fields import Channel, Flag, Traversal, Watcher, bits
from tilesim.tiled.isa.model.instructions import RingConsume, RingProduce
from tilesim.tiled.isa.model.sheet import CONSUMERS, FLAGS


class Arrivals(Protocol):
    """Where it is remembered when sets have come, and when tiles have sent on what they got."""

    arrived: dict[tuple[SetKey, int], Watcher]
    passed_on: dict[SetKey, dict[int, tuple[Watcher, ...]]]


class Sending(Struct, frozen=True):
    """A transfer: ``rows`` at ``address`` of ``master`` to row ``first`` of the set in each of ``to``; it goes ``back``
    if the master has got it from whom it sends it to.
    """

    master: int
    address: int
    first: int
    rows: int
    to: int
    back: bool = False


class Receiving(Struct, frozen=True):
    """Rows of the set, from ``first`` on, that come to a tile, of one transfer or of several in turn."""

    first: int
    rows: int


class SplitSending(Struct, frozen=True):
    """The transfers of a set, on a ``channel`` of the ring, to the bytes from ``address`` on, which in each tile are
    ``free`` after some waits.
    """

    builder: ProgramBuilder
    layout: WideLayout
    key: SetKey
    address: int
    free: Sequence[tuple[Watcher, ...]]
    label: str
    channel: Channel

    def write(self, arrivals: Arrivals) -> None:
        """Append all instructions; a tile receives nothing that comes behind its own run before it has sent that."""
        builder, sendings = self.builder, list(self._sendings())
        receivings = self._receivings(sendings)
        begun: set[int] = set()
        for number, sending in enumerate(sendings):
            turn = builder.turn(
                sending.master, self.channel
            )  # may take a fence, which must not wait for what is received here
            receives = {
                tile: self._receive(receiving, () if tile in begun else self.free[tile])
                for tile, receiving in receivings[number].items()
            }
            builder.write(f"{self.label}.receive{number}", receives)
            begun.update(receives)
            self._send(f"{self.label}.send{number}", sending, turn, arrivals)
        for tile in bits(self.layout.streams_to(self.key)):
            arrivals.arrived[self.key, tile] = builder.count(tile, self._reads)

    def _sendings(self) -> Iterator[Sending]:
        """Each run to all, then those of home tiles that need the set back to them: from the one that has just got its
        own, which knows from that that the ring is free.
        """
        runs, to = self.layout.runs[self.key], self.layout.streams_to(self.key)
        for kept in runs:
            others = to & ~(1 << kept.run.tile) if kept.run.of is None else 1 << kept.run.of
            yield self._sending(kept, others)
        needing = [kept for kept in runs if kept.run.of is None and to >> kept.run.tile & 1]
        masters = [self._nearest(kept.run.tile, to) for kept in needing[:1]] + [kept.run.tile for kept in needing]
        for kept, master in zip(needing, masters, strict=False):
            sending = self._sending(kept, 1 << kept.run.tile)
            address = self.address + sending.first * self._row_bytes
            yield replace(sending, master=master, address=address, back=True)

    def _sending(self, kept: KeptRun, to: int) -> Sending:
        row_bytes = self._row_bytes
        return Sending(kept.run.tile, kept.address, kept.run.first // row_bytes, kept.run.bytes // row_bytes, to)

    def _nearest(self, tile: int, others: int) -> int:
        """Of those who have got a tile's run that from which the way to it along the ring is the shortest."""
        nodes = self.builder.topology.tiles + 3
        return min((other for other in bits(others) if other != tile), key=lambda other: (tile - other) % nodes)

    def _receivings(self, sendings: Sequence[Sending]) -> list[dict[int, Receiving]]:
        """What each tile begins to receive with each transfer: rows that follow each other in one, unless the tile
        sends in between. In one queue for both roles, that would be held up.
        """
        begun: list[dict[int, Receiving]] = [{} for _ in sendings]
        open_: dict[int, int] = {}
        for number, sending in enumerate(sendings):
            open_.pop(sending.master, None)
            for tile in bits(sending.to):
                before = begun[open_[tile]][tile] if tile in open_ else None
                if before is not None and before.first + before.rows == sending.first:
                    begun[open_[tile]][tile] = replace(before, rows=before.rows + sending.rows)
                else:
                    open_[tile] = number
                    begun[number][tile] = Receiving(sending.first, sending.rows)
        return begun

    def _receive(self, receiving: Receiving, wait: tuple[Watcher, ...]) -> RingConsume:
        write = self._rows(self.address + receiving.first * self._row_bytes, receiving.rows)
        return RingConsume(tiles=0, write=write, channel=self.channel, wait=wait, produce="r", layer=self.key.layer)

    def _send(self, label: str, sending: Sending, turn: tuple[Watcher, ...], arrivals: Arrivals) -> None:
        """What goes back is sent as soon as it is there, whole; then it may be overwritten."""
        builder, master, read = self.builder, sending.master, self._rows(sending.address, sending.rows)
        there = (builder.count(master, self._reads),) if sending.back else ()
        produce = "r" if sending.back else None
        op = RingProduce(
            tiles=0,
            read=read,
            to=sending.to,
            channel=self.channel,
            wait=(*there, *turn),
            produce=produce,
            layer=self.key.layer,
        )
        builder.write(label, {master: op})
        builder.send(master, sending.to, self.channel)
        if sending.back:
            arrivals.passed_on.setdefault(self.key, {})[master] = (builder.count(master, Flag.RING_WRITE),)

    def _rows(self, address: int, rows: int) -> Traversal:
        return wide_rows(address, rows, self._row_bytes)

    @property
    def _reads(self) -> Flag:
        """What counts the rows that a tile has got."""
        return FLAGS[CONSUMERS[self.channel]]

    @property
    def _row_bytes(self) -> int:
        return self.builder.topology.wide_memory.row_bytes
