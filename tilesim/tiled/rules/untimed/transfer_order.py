"""Which transfers pass which stop before which others: as one execution found it, and as far as it is proven.

Packets keep their order from stop to stop, and what comes before at a stop comes before all that follows there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from msgspec import Struct, field

from tilesim.tiled.rules.untimed.transfers import Transfer
from tilesim.tiled.rules.untimed.work_queues import Fence, WorkItem


class History(Struct):
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


class Barrier(Struct, frozen=True):
    """The last row of ``transfer`` doesn't pass the stop ``node``, nor those behind that, and nor do the transfers
    ``behind`` it there (by number); or ``item`` doesn't begin, or ``fences`` aren't through.
    """

    transfer: Transfer | None = None
    node: int = 0
    behind: frozenset[int] = frozenset()
    item: WorkItem | None = None
    fences: frozenset[Fence] = frozenset()

    def holds(self, transfer: Transfer, hops: int) -> bool:
        """Whether a transfer's tail is held up to a stop so many hops from its master."""
        held = transfer is self.transfer or transfer.number in self.behind
        return held and hops >= transfer.hops(self.node)

    def stops(self, transfer: Transfer, hops: int) -> bool:
        """Whether all its rows are."""
        return transfer.number in self.behind and hops >= transfer.hops(self.node)


class TransferOrder:
    """Of transfers in an ``order`` in which they can go: for each stop and transfer, as a bitmap of places in that
    order, those whose tails are known to have passed before it comes. ``stops``: those of all channels.
    """

    def __init__(self, order: Sequence[Transfer], stops: int) -> None:
        self._order = order
        self._places = {transfer: place for place, transfer in enumerate(order)}
        self._passing = [
            [place for place, transfer in enumerate(order) if transfer.passes(node)] for node in range(stops)
        ]
        self._at = [sum(1 << place for place in passing) for passing in self._passing]
        self._before = [dict.fromkeys(passing, 0) for passing in self._passing]
        queues: dict[int, int] = {}
        for place, transfer in enumerate(order):
            for node in transfer.path:
                self._before[node][place] = queues.get(transfer.master, 0) & self._at[node]
            queues[transfer.master] = queues.get(transfer.master, 0) | 1 << place

    def add(self, first: Transfer, other: Transfer, node: int) -> None:
        """``first`` has passed a stop when ``other`` comes."""
        self._before[node][self._places[other]] |= 1 << self._places[first]

    def holds(self, first: Transfer, other: Transfer, node: int) -> bool:
        return bool(self._before[node][self._places[other]] >> self._places[first] & 1)

    def bit(self, transfer: Transfer) -> int:
        """A transfer in a bitmap."""
        return 1 << self._places[transfer]

    def first(self, bits: int) -> Transfer:
        """The first of the transfers in a bitmap."""
        return self._order[(bits & -bits).bit_length() - 1]

    def listed(self, bits: int) -> Iterator[Transfer]:
        """The transfers in a bitmap."""
        while bits:
            yield self.first(bits)
            bits &= bits - 1

    def before(self, transfer: Transfer, node: int) -> int:
        """Those that have passed a stop when ``transfer`` comes, as a bitmap."""
        return self._before[node].get(self._places.get(transfer, -1), 0)

    def after(self, first: Transfer, node: int) -> Iterator[Transfer]:
        """The transfers that come to a stop when ``first`` has passed it."""
        place = self._places[first]
        return (self._order[other] for other, before in self._before[node].items() if before >> place & 1)

    def barrier(self, first: Transfer, node: int) -> Barrier:
        """The tail of ``first`` held at a stop, and with it those that are known to come there behind it."""
        return Barrier(first, node, frozenset(transfer.number for transfer in self.after(first, node)))

    def close(self) -> None:
        """Draw all conclusions."""
        changed = True
        while changed:
            changed = False
            for node in range(len(self._passing)):
                changed |= self._follow(node)
                changed |= self._pass_on(node)

    def open(self) -> Iterator[tuple[Transfer, Transfer, int]]:
        """The pairs of different masters that share stops but no order, with the first stop of each such stretch."""
        for first, other in combinations(self._order, 2):
            if first.master != other.master:
                for node in (first.master, other.master):
                    if first.passes(node) and other.passes(node) and not self.holds(first, other, node):
                        yield first, other, node

    def _follow(self, node: int) -> bool:
        """What comes before one that comes before comes before."""
        changed = False
        for place in self._passing[node]:
            direct = known = self._before[node][place]
            while direct:
                last = direct.bit_length() - 1
                known |= self._before[node][last]
                direct &= ~(1 << last | self._before[node][last])
            changed |= known != self._before[node][place]
            self._before[node][place] = known
        return changed

    def _following(self, node: int) -> int | None:
        """The next stop on the ring of that channel, if anything passes this one."""
        if not self._passing[node]:
            return None
        nodes = self._order[self._passing[node][0]].nodes
        return node // nodes * nodes + (node + 1) % nodes

    def _pass_on(self, node: int) -> bool:
        """Packets come to the next stop in the order in which they leave this one."""
        following = self._following(node)
        if following is None:
            return False
        come = [place for place in self._passing[following] if self._order[place].master != following]
        both = sum(1 << place for place in come)
        changed = False
        for place in come:
            known = self._before[following][place] | self._before[node][place] & both
            changed |= known != self._before[following][place]
            self._before[following][place] = known
        return changed
