"""A tile's ring consumer: takes the rows that carry the tile's bit into wide memory."""

from __future__ import annotations

from collections import Counter
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tilesim.sim.core.clock import Handover, Phase, Work
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.memory import Bytes, joined
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.isa.model.fields import ByteFilter, Channel, MemoryName
from tilesim.tiled.isa.model.instructions import RingConsume
from tilesim.tiled.isa.model.loops import completions
from tilesim.tiled.isa.model.sheet import CONSUMERS
from tilesim.tiled.units.engine import TileContext, TileEngine, gates_by_round
from tilesim.tiled.units.ring.ring import Packet, RingStop
from tilesim.tiled.units.ring.ring_commits import RingCommits


class RingConsumer(TileEngine[RingConsume]):
    """Supplies the address of each row; the ring's packets carry none.

    Timing: a row that is at the stop in cycle t when the consumer is posted comes in for the k = ceil(row bytes /
    ring.width_bytes) cycles of a link; it is committed in the last of them, t + k - 1, ahead of everybody else at the
    wide port, and is seen at t + k; peak rate one row in k cycles. With a byte filter every row takes its cycles, but
    only one that completes a row of ``write`` is committed, and waits for that row's loop watchers. A last row that is
    not full is committed with the row that brings its last byte; if that one completes another row as well, in the
    cycle after, in which none is taken. The consumer is posted up to its last cycle: in the one after, a row for it
    finds nobody. Where a tile has one of channel B, too, :mod:`~tilesim.tiled.units.ring.ring_commits` says who waits
    for whom. Source: US 2025/0265455 [0034]-[0035], [0046]; the filter's timing is an assumption.
    """

    def __init__(
        self,
        tile: TileContext,
        unit: Unit,
        stop: RingStop,
        buffer: Fifo[RingConsume] | None = None,
        channel: Channel = Channel.A,
        commits: RingCommits | None = None,
    ) -> None:
        self._stop = stop
        self._number = channel.number
        self._commits = commits
        self._words = "its ring consumer" if channel is Channel.A else "its ring consumer B"
        self._byte_filter: ByteFilterUnit | None = None
        self._address: int | None = None
        self._taken: Handover | None = None
        super().__init__(tile, unit, CONSUMERS[channel], buffer)
        self._committing = tile.memories.slot(self.name, "write", MemoryName.WIDE)
        stop.receiver = self

    def execute(self, op: RingConsume) -> Work:
        self._stop.poke()  # a row that wanted to go past may wait for it now
        yield from self.watch(op.wait)
        nest, memories = op.write.nest, self.tile.memories
        rises = Counter(completions(nest, op.produce))
        held = gates_by_round(nest, op.wait)
        addresses = self.tile.ttu.addresses(nest, op.write.reference)
        kept = op.filter or ByteFilter(rows=len(addresses), first=0, keep=memories.row_bytes, gap=0)
        self._byte_filter = ByteFilterUnit(kept, len(addresses), memories.wide.samples, memories.row_bytes)
        received = count()
        for step in kept.steps(len(addresses), memories.row_bytes):
            row = step.completes
            for gate in () if row is None else held.get(row, ()):
                yield from self.await_flag(gate)
            self._address = None if row is None else int(addresses[row])
            moved_bytes = 0 if row is None else memories.row_bytes
            if step.takes:
                yield from self._receive(next(received))
            else:
                yield from self._await_commit()
                self._commit()
                yield self.tile.clock.timeout(1)
            self.unit.spend(BUSY, moved_bytes=moved_bytes)
            self.raise_flag(0 if row is None else rises[row + 1])
        self._stop.poke()  # a row that waited for its end may go past now

    def _receive(self, row: int) -> Work:
        """Let the stop hand over the next row, until the cycle after its last part."""
        self._taken = Handover(self.tile.clock)
        self._stop.poke()
        yield from self.unit.wait_on(self._taken, Reason.FIFO, f"row {row} from the ring")

    def _await_commit(self) -> Work:
        """Wait for a cycle in which the other consumer of the tile, if there is one, commits no row."""
        if self._commits is not None:
            owed = self._commits.owe(self._number)
            yield from self.unit.wait(owed, Reason.PORT, lambda: "the other ring consumer to have written a row")

    def _clashes(self) -> bool:
        """Whether a row that is taken from this cycle on would be committed with one of the other consumer."""
        if self._commits is None or self._address is None:
            return False
        return self._commits.clashes(self._number, self.tile.clock.cycle + self._stop.row_cycles - 1)

    def obstacle(self) -> str | None:
        if self._taken is not None:
            return "the other ring consumer, which writes a row" if self._clashes() else None
        if self.unit.waiting is not None and self.unit.waiting.reason is Reason.FLAG:
            return f"{self._words}, which waits for {self.unit.waiting.describe()}"
        if self.unit.engaged:
            return f"{self._words}, which writes a row"
        if self.unfinished:
            return f"{self._words}, which has {self.unfinished[0].label} still to begin"
        return f"{self._words.replace('its', 'a')} to be posted"

    def take(self, packet: Packet) -> None:
        assert self._taken is not None
        assert self._byte_filter is not None
        self._byte_filter.take(packet.row)
        if self._address is not None:
            self._commit_with_last_part(packet.instant)
        self.unit.waited()
        self._taken.begin(None, 0 if packet.instant else self._stop.row_cycles)
        self._taken = None

    def _commit_with_last_part(self, instant: bool) -> None:
        """The first part of a row that is complete then has been taken in this cycle."""
        if self._commits is not None and not instant:
            self._commits.note(self._number, self.tile.clock.cycle + self._stop.row_cycles - 1)
        if instant or self._stop.row_cycles == 1:
            self._commit(instant)
            return
        last = self.tile.clock.phase(Phase.ARBITRATE, self._stop.row_cycles - 1)
        last.callbacks.append(lambda _: self._commit())

    def _commit(self, instant: bool = False) -> None:
        """Write the row that is complete, in this cycle; an ``instant`` one needs no port."""
        assert self._byte_filter is not None
        assert self._address is not None
        memories = self.tile.memories
        memories.wide.write_row(self._address, self._byte_filter.packed())
        if not instant:
            self.tile.arbiter.access(self._committing)


class ByteFilterUnit:
    """The bytes that are kept and not yet in a complete row; rows beyond ``rows`` are dropped."""

    def __init__(self, kept: ByteFilter, rows: int, samples: int, row_bytes: int) -> None:
        self._kept = kept
        self._rows = rows
        self._row_bytes = row_bytes
        self._taken = 0
        self._loose: Bytes = np.zeros((samples, 0), np.uint8)

    def take(self, row: Bytes) -> None:
        """The next row of the stream, (samples or 1, row bytes)."""
        if self._rows:
            picked = row if self._kept.whole else row[:, self._places()]
            self._loose = joined([self._loose, picked]) if self._loose.size else picked
        self._taken += 1

    def packed(self) -> Bytes:
        """The next row, (samples, row bytes), ending in zeros if it is not full."""
        row, self._loose = self._loose[:, : self._row_bytes], self._loose[:, self._row_bytes :]
        self._rows -= 1
        short = self._row_bytes - row.shape[1]
        return np.pad(row, [(0, 0), (0, short)]) if short else row

    def _places(self) -> NDArray[np.bool_]:
        """Which bytes of the next row of the stream are kept."""
        offsets = np.arange(self._row_bytes) + self._taken * self._row_bytes - self._kept.first
        places: NDArray[np.bool_] = (offsets >= 0) & (offsets % (self._kept.keep + self._kept.gap) < self._kept.keep)
        return places
