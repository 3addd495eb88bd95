"""Watches the ring for transfers that meet: at some stop, a packet of one between the first and the last of another."""

from __future__ import annotations

from tilesim.tiled.stepped.ring import Packet, RingStop, Transfer


class Monitor:
    """Hears of every packet that a stop sends, forwards or takes. Back to back is legal."""

    def __init__(self) -> None:
        self.collided = False
        self._open: dict[int, list[Transfer]] = {}

    def note(self, stop: RingStop, packet: Packet) -> None:
        """``packet`` passes at ``stop`` in this cycle."""
        others = [each for each in self._open.get(stop.node, []) if each is not packet.transfer and not _is_over(each)]
        self.collided = self.collided or bool(others)
        still = [] if packet.tail else [packet.transfer]
        self._open[stop.node] = others + still


def _is_over(transfer: Transfer) -> bool:
    """Whether all its packets have left the ring, though a stop has not seen its tail: it was taken on a later lap."""
    return transfer.sent and not transfer.afloat
