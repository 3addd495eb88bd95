"""A transfer that goes over the ring in bursts, as its sender sees it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import simpy

from tilesim.sim.core.clock import Clock, Timer, Work
from tilesim.sim.core.memory import Bytes
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.tiled.units.ring.announcement import Announcement
from tilesim.tiled.units.ring.packet_train import UNKNOWN, Cycles, PacketTrain, TrainTiming


class Journey:
    """A train on the ring: what its sender waits for, and how far its tail has come.

    ``released`` hears when there are packets to send, ``passed`` when the tail has passed the next stop on its way,
    with its last part in the cycle before. ``reads`` are the accesses with which rows are fetched.
    """

    def __init__(
        self,
        clock: Clock,
        train: PacketTrain,
        reads: Announcement | None,
        released: Callable[[Journey], None],
        passed: Callable[[Journey], None],
    ) -> None:
        self.train = train
        self.tail_at = 0
        self._clock = clock
        self._reads = reads
        self._released = released
        self._left = Timer(clock, self._tell_sender)
        self._tail = Timer(clock, lambda: passed(self))
        self._sent: simpy.Event | None = None

    def transmit(self, unit: Unit, data: Bytes, come: Cycles | None = None) -> Work:
        """Send the next rows, (samples or 1, rows, row bytes), of which each can be fetched from the cycle on in which
        it has ``come``, and account for ``unit``'s cycles until the one after the last has left.
        """
        begin, train = self._clock.cycle, self.train
        fetch_cycles = train.timing.fetch_cycles
        rows = slice(train.released, train.released + data.shape[1])
        ready = np.full(data.shape[1], begin) if come is None else np.maximum(come, begin)
        train.release(ready + fetch_cycles, data)
        self._sent = self._clock.event()
        self._released(self)
        yield from unit.wait_on(self._sent, Reason.CREDIT, "the ring to take its packets")
        _account(unit, begin, train.timing, train.asked[rows], train.leaves[rows], data.shape[2])

    def expect(self) -> None:
        """Wait for what comes next, as it is planned."""
        train = self.train
        if self._sent is not None:
            left = int(train.leaves[train.released - 1])
            self._left.set(left + train.timing.row_cycles if left < UNKNOWN else None)
            if self._reads is not None:
                asked = train.asked[: train.released]
                self._reads.tell(asked[asked < UNKNOWN] - 1)
        if self.tail_at <= train.reach:
            tail = int(train.times[self.tail_at, -1])
            self._tail.set(tail + train.timing.row_cycles if tail < UNKNOWN else None)

    def _tell_sender(self) -> None:
        sent, self._sent = self._sent, None
        assert sent is not None
        sent.succeed()


def _account(unit: Unit, begin: int, timing: TrainTiming, asked: Cycles, leaves: Cycles, row_bytes: int) -> None:
    """Account for rows from cycle ``begin`` on: each is waited for, fetched, ``asked`` to be sent, and sent."""
    fetch_cycles, row_cycles = timing.fetch_cycles, timing.row_cycles
    if unit.recording:
        rows, left = len(asked), np.concatenate([[begin], leaves[:-1] + row_cycles])
        fetching, sending = np.full(rows, fetch_cycles), np.full(rows, row_cycles)
        spans = np.stack([asked - fetch_cycles - left, fetching, leaves - asked, sending], axis=1)
        some = np.flatnonzero(spans)
        kinds = (Reason.HOST.kind, BUSY, Reason.CREDIT.kind, BUSY)
        unit.add_spans(kinds, some % 4, spans.ravel()[some], (0, 0, 0, row_bytes // row_cycles))
        return
    busy, held = len(leaves) * timing.gap_cycles, int((leaves - asked).sum())
    unit.add(Reason.HOST.kind, int(leaves[-1]) + row_cycles - begin - busy - held)
    unit.add(Reason.CREDIT.kind, held)
    unit.add(BUSY, busy, len(leaves) * row_bytes)
