"""Watches the ring for transfers that meet: at some stop, a packet of one between the first and the last of another."""

from __future__ import annotations

from tilesim.tiled.stepped.ring import Packet, RingStop, Transfer


class Monitor:
    """Hears of every packet that a stop sends, forwards or takes. Back to back is legal.

    A transfer is open at a stop from a first packet there up to a tail, or until all its packets have left the ring
    at the end of a cycle: rows that come by again may open it again.
    """

    def __init__(self) -> None:
        self.collided = False
        self._open: dict[int, list[Transfer]] = {}
        self._passed: list[tuple[int, Packet]] = []

    def note(self, stop: RingStop, packet: Packet) -> None:
        """``packet`` passes at ``stop`` in this cycle."""
        self._passed.append((stop.node, packet))

    def commit(self) -> None:
        """The cycle ends: what has left the ring in it is over."""
        for node, packet in self._passed:
            transfer = packet.transfer
            others = [each for each in self._open.get(node, []) if each is not transfer and not _is_over(each)]
            self.collided = self.collided or bool(others)
            self._open[node] = others + ([] if packet.tail else [transfer])
        self._passed.clear()


def _is_over(transfer: Transfer) -> bool:
    """Whether all its packets have left the ring, though a stop has not seen its tail: it was taken on a later lap."""
    return transfer.sent and not transfer.afloat
