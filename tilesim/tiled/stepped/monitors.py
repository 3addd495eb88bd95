"""What watches the ring: for transfers that meet, and for packets that go round for ever."""

from __future__ import annotations

from collections.abc import Callable

from tilesim.tiled.stepped.core import Clock
from tilesim.tiled.stepped.ring import Packet, RingStop, SentTransfer

PATIENCE_LAPS = 1024
"""Laps for which somebody may wait who counts tails, when nothing else happens."""


class RingMonitor:
    """Hears of every packet that a stop sends, forwards or takes. Transfers meet if at some stop a packet of one lies
    between the first and the last of another; back to back is legal.

    A transfer is open at a stop from a first packet there up to a tail, or until all its packets have left the ring
    at the end of a cycle: rows that come by again may open it again.
    """

    def __init__(self) -> None:
        self.collided = False
        self._open: dict[RingStop, list[SentTransfer]] = {}
        self._passed: list[tuple[RingStop, Packet]] = []

    def note(self, stop: RingStop, packet: Packet) -> None:
        """``packet`` passes at ``stop`` in this cycle."""
        self._passed.append((stop, packet))

    def commit(self) -> None:
        """The cycle ends: what has left the ring in it is over."""
        for stop, packet in self._passed:
            transfer = packet.transfer
            others = [other for other in self._open.get(stop, []) if other is not transfer and not _is_over(other)]
            self.collided = self.collided or bool(others)
            self._open[stop] = others + ([] if packet.tail else [transfer])
        self._passed.clear()


def _is_over(transfer: SentTransfer) -> bool:
    """Whether all its packets have left the ring, though a stop has not seen its tail: it was taken on a later lap."""
    return transfer.sent and not transfer.afloat


class LivelockMonitor:
    """Compares the ring with what it was like in each cycle since the last in which anybody else did anything.

    If it is as it was, so will it be for ever; ``awaits_tails`` says that somebody counts the tails that come by, so
    that each lap is progress, but not for longer than ``PATIENCE_LAPS``.
    """

    def __init__(
        self, clock: Clock, rings: list[list[RingStop]], awaits_tails: Callable[[], bool], hop_cycles: int
    ) -> None:
        self._clock = clock
        self._stops = [stop for ring in rings for stop in ring]
        self._awaits_tails = awaits_tails
        self._patience_cycles = PATIENCE_LAPS * max(len(rings[0]) * hop_cycles, rings[0][0].parts)
        self._seen: set[tuple[object, ...]] = set()
        self._waited_cycles = 0

    def endless(self) -> bool:
        """Whether packets only go round; to be asked in each cycle."""
        if not self._clock.all_wait:
            self._seen.clear()
            self._waited_cycles = 0
            return False
        self._waited_cycles += 1
        state = tuple(stop.state() for stop in self._stops)
        again = state in self._seen
        self._seen.add(state)
        return again and (self._waited_cycles > self._patience_cycles or not self._awaits_tails())
