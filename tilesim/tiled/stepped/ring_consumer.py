"""A tile's ring consumer: takes the rows that carry the tile's bit into wide memory."""

from __future__ import annotations

import numpy as np

from tilesim.tiled.isa.model.fields import ByteFilter
from tilesim.tiled.isa.model.instructions import RingConsume
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.stepped.core import BUSY, FIFO, FLAG, PORT
from tilesim.tiled.stepped.engine import Engine, Rounds
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.ring import Packet


class RingConsumer(Engine):
    """Supplies the address of each row.

    Timing: a row of which the last part is taken off the stop in t is committed in t, ahead of everybody else at the
    wide port, and is seen at t + 1. With a byte filter, only a row that completes a row in memory is committed, and
    waits for that one's watchers; where a row completes two, the second one, which is the last, is committed in the
    cycle after, in which none is taken.

    Beside another one in its tile, where wide memory has one port, it begins to take no row that would be committed in
    the cycle of a commit of the other one (A is asked first); and a row that is complete and waits for a cycle of its
    own is committed in the first one without a commit of the other's.
    """

    op: RingConsume
    beside: RingConsumer | None = None
    """The other one."""
    commits_at = -1
    """The cycle of its last commit that is sure."""
    parts = 1
    """Of a row on its way from the stop."""
    _parts_taken = 0

    def begin(self, op: RingConsume) -> None:
        rows = iterations(op.write.nest)
        self._byte_filter = ByteFilterUnit(op.filter, rows, self.memories.row_bytes) if op.filter else None
        self._rounds = Rounds(op.write.nest, op)
        self.gate(self._rounds.next())

    def engaged(self) -> bool:
        return self.op is not None and not self.held

    def proceed(self) -> None:
        self._open = self.passes_gates()
        self._taken = False
        self._row: Bytes | None = None
        self._denied = False

    def commit_owed(self) -> None:
        """Commit a row that is complete, if one is."""
        if self.op is None or not self.begun or not self._byte_filter:
            return
        if self._byte_filter.owes and self._open:
            self._denied = self._clashes(self.clock.cycle)
            if not self._denied:
                self.commits_at = self.clock.cycle
                self._commit(self._byte_filter.fetch())

    def _clashes(self, cycle: int) -> bool:
        """Whether the other one has the only port in that cycle."""
        return self.beside is not None and self.memories.wide_port.capacity == 1 and self.beside.commits_at == cycle

    def _will_commit(self) -> bool:
        """Whether the next row of the stream makes one complete."""
        return self._byte_filter is None or self._byte_filter.completes()

    def ready(self) -> bool:
        if self.op is None or not self.begun:
            return False
        if self._will_commit() and self._clashes(self.clock.cycle + self.parts - 1):
            return False
        if self._byte_filter is None:
            return self._open
        if self._row is not None or self._byte_filter.owes or not self._byte_filter.rows_to_take:
            return False
        return self._open or not self._byte_filter.completes()

    def accept(self, packet: Packet, last: bool) -> None:
        self._taken = True
        if not self._parts_taken and self._will_commit():
            self.commits_at = self.clock.cycle + self.parts - 1
        self._parts_taken = 0 if last else self._parts_taken + 1
        if not last:
            return
        if self._byte_filter is None:
            self._commit(packet.row)
            return
        self._byte_filter.take(packet.row)
        if self._byte_filter.owes:
            self._commit(self._byte_filter.fetch())

    def _commit(self, row: Bytes) -> None:
        """Write the row in this cycle: at the wide port nobody goes before it."""
        self.memories.wide_port.take()
        self._row = row

    def advance(self) -> str:
        if self._row is not None:
            step = self._rounds.step
            assert step is not None
            self.memories.wide.write(step.address(self.op.write.reference), self._row)
            self.raise_flag(self._rounds.raises(step))
            self.gate(self._rounds.next())
        if self._taken or self._row is not None:
            self.clock.stir()
            return BUSY
        if self._denied:
            return PORT
        return FIFO if self._open or (self._byte_filter and not self._byte_filter.completes()) else FLAG

    def through(self) -> bool:
        return self._rounds.step is None and not (self._byte_filter and self._byte_filter.rows_to_take)


class ByteFilterUnit:
    """Takes rows one after the other and packs the bytes that ``kept`` keeps of them into ``rows`` rows.

    The last row need not be full: it is complete, with zeros, once the stream has brought the last byte that is kept.
    """

    def __init__(self, kept: ByteFilter, rows: int, row_bytes: int) -> None:
        self.rows_to_take = kept.rows
        self._kept = kept
        self._rows_to_pack = rows
        self._row_bytes = row_bytes
        self._taken = 0
        self._packed = np.zeros(0, np.uint8)
        self._all_bytes = kept.kept(kept.rows * row_bytes)

    @property
    def owes(self) -> int:
        """Rows that are complete and not yet fetched."""
        return self._complete(self._taken)

    def completes(self) -> bool:
        """Whether the next row of the stream makes a row complete."""
        return self._complete(self._taken + 1) > 0

    def _complete(self, taken: int) -> int:
        kept_bytes = self._kept.kept(taken * self._row_bytes)
        fetched_bytes = self._kept.kept(self._taken * self._row_bytes) - len(self._packed)
        complete = (kept_bytes - fetched_bytes) // self._row_bytes
        if kept_bytes == self._all_bytes and kept_bytes - fetched_bytes > complete * self._row_bytes:
            complete += 1
        return min(complete, self._rows_to_pack)

    def take(self, row: Bytes) -> None:
        """The next row of the stream."""
        place = np.arange(self._row_bytes) + self._taken * self._row_bytes - self._kept.first
        keeps = (place >= 0) & (place % (self._kept.keep + self._kept.gap) < self._kept.keep)
        self._packed = np.concatenate([self._packed, row[keeps]])
        self._taken += 1
        self.rows_to_take -= 1

    def fetch(self) -> Bytes:
        """The first row that is complete."""
        self._rows_to_pack -= 1
        row = np.zeros(self._row_bytes, np.uint8)
        part, self._packed = self._packed[: self._row_bytes], self._packed[self._row_bytes :]
        row[: len(part)] = part
        return row
