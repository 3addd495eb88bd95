"""What is known of an execution before it begins: what one before it found out, and what is kept from happening."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.work_queues import Fence, WorkItem


@dataclass(frozen=True)
class Barrier:
    """The last row of ``transfer`` doesn't pass the stop ``node``, nor those behind that, and nor do the transfers
    ``behind`` it there (by number); or ``item`` doesn't begin, or ``fence`` isn't through.
    """

    transfer: Transfer | None = None
    node: int = 0
    behind: frozenset[int] = frozenset()
    item: WorkItem | None = None
    fence: Fence | None = None

    def holds(self, transfer: Transfer, hops: int) -> bool:
        """Whether a transfer's tail is held up to a stop so many hops from its master."""
        held = transfer is self.transfer or transfer.number in self.behind
        return held and hops >= transfer.hops(self.node)

    def stops(self, transfer: Transfer, hops: int) -> bool:
        """Whether all its rows are."""
        return transfer.number in self.behind and hops >= transfer.hops(self.node)


@dataclass
class History:
    """What an execution has found: the ``order`` in which transfers began, the rows ahead of each at each of its
    destinations (by number), and which tails came before each reset of a tile's count of them.
    """

    order: list[Transfer] = field(default_factory=list)
    ahead: dict[int, list[int]] = field(default_factory=dict)
    resets_before: dict[tuple[int, int], int] = field(default_factory=dict)
    last_before_reset: list[tuple[Fence, int, Transfer]] = field(default_factory=list)

    def begin(self, transfer: Transfer) -> None:
        """A transfer begins behind all those before it."""
        self.ahead[transfer.number] = [
            sum(other.rows for other in self.order if node in other.destinations) for node in transfer.destinations
        ]
        self.order.append(transfer)
