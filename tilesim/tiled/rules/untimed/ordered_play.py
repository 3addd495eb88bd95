"""A play of a program whose transfers are proven to come to each stop in some order: none overtakes another."""

from __future__ import annotations

from collections import deque

from tilesim.tiled.rules.ring.transfer_order import TransferOrder
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.play import Play
from tilesim.tiled.rules.untimed.situation import History
from tilesim.tiled.rules.untimed.work_queues import WorkQueues


class OrderedPlay(Play):
    """A play in which a transfer passes a stop only behind all those that are known to come before it there."""

    def __init__(self, duties: WorkQueues, history: History, precedence: TransferOrder) -> None:
        super().__init__(duties, history)
        self._precedence = precedence
        self._tails_at = [0] * duties.nodes
        """The transfers whose tails have passed each stop, as a bitmap."""
        self._behind: deque[Transfer] = deque()

    def settle(self) -> None:
        super().settle()
        while self._behind:
            self._flow(self._behind.popleft())
            super().settle()

    def _clear(self, transfer: Transfer, node: int) -> bool:
        return not any(
            self._precedence.before(transfer, stop) & ~self._tails_at[stop] for stop in transfer.way_to(node)
        )

    def _count_tail(self, transfer: Transfer, node: int) -> None:
        super()._count_tail(transfer, node)
        self._put(self._tails_at, node, self._tails_at[node] | self._precedence.bit(transfer))
        self._behind += (each for each in self._precedence.after(transfer, node) if self._waits(each))

    def _waits(self, transfer: Transfer) -> bool:
        return self.rows[transfer.number][0] > 0 and self.tails[transfer.number] <= transfer.reach
