"""Whether two masters can ever send past the same stop at once.

Packets keep their order from stop to stop. So of two transfers it is enough to prove the order at the first stop of
each stretch of the ring that they share, which is always the master of one of them. At each stop the transfers that
pass it form a chain: if each is proven to be behind the one before, all are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise

from msgspec import Struct
from msgspec.structs import replace

from tilesim.tiled.rules.ring.collisions import Collision, Pair, at_once, located, reason
from tilesim.tiled.rules.ring.readings import Reading
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.transfer_order import History, TransferOrder
from tilesim.tiled.rules.untimed.transfers import Transfer
from tilesim.tiled.rules.untimed.work_queues import Fence, WorkQueues

Wanted = dict[tuple[Transfer, int], list[Transfer]]
"""Transfers that must not pass a stop while the tail of another one is held there."""


class Masters(Struct, frozen=True):
    """What is proven of the ``order`` of the transfers that can begin, and what is not.

    ``pairs`` counts all pairs by what keeps them apart: ``disjoint`` nodes, one master's ``queue``, a proven ``order``,
    or that both are ``single`` packets, of which none lies inside the other; the rest are ``open``. ``proofs`` counts
    those whose order was proven by itself, by what holds the later one (``flag``, ``fence``, ``section`` or
    ``arrival``); the order of the others follows. ``at_once``: pairs that can be under way at once, ``collisions``
    among them. ``arrivals``: two that may reach a node in either order. ``history`` is what the proof rests on.
    """

    order: TransferOrder
    pairs: Counter[str]
    proofs: Counter[str]
    collisions: tuple[Collision, ...]
    at_once: tuple[Pair, ...]
    arrivals: tuple[tuple[Transfer, Transfer, int], ...]
    early_resets: tuple[tuple[Fence, Transfer], ...]
    history: History

    def forbidden(self, reading: Reading) -> list[Pair]:
        """The pairs of which it is not proven that they keep to a reading of the rule."""
        if reading is Reading.MEET:
            return [(collision.first, collision.other) for collision in self.collisions]
        return [pair for pair in self.at_once if reading.forbids_at_once(bool(pair[0].occupied & pair[1].occupied))]


def prove(work: WorkQueues, history: History) -> Masters:
    """Prove the order of the transfers of an execution, or find those that have none."""
    proof = _Proof(work, history)
    proof.check(_neighbours(work, history.order))
    if any(True for _ in proof.order.open()):  # then it may not be assumed either which rows come first
        proof = _Proof(work, replace(history, ahead={}))
        wanted: Wanted = defaultdict(list)
        for first, other, node in proof.order.open():
            wanted[first, node].append(other)
        proof.check(wanted)
    return proof.result()


def _neighbours(work: WorkQueues, order: list[Transfer]) -> Wanted:
    """Those that follow one another at a stop which is the master of one of them."""
    wanted: Wanted = defaultdict(list)
    for node in range(work.stops_on_ring):
        for first, other in pairwise(transfer for transfer in order if transfer.passes(node)):
            if first.master != other.master and node in {first.master, other.master}:
                wanted[first, node].append(other)
    return wanted


class _Proof:
    def __init__(self, work: WorkQueues, history: History) -> None:
        self.order = TransferOrder(history.order, work.stops_on_ring)
        self._passing: list[Collision] = []
        self._work, self._history = work, history
        self._proofs: Counter[str] = Counter()
        self._early_resets: list[tuple[Fence, Transfer]] = []
        self._resets: dict[tuple[Transfer, int], list[tuple[Fence, int]]] = defaultdict(list)
        for fence, number, last in history.last_before_reset:
            self._resets[last, last.first_stop + fence.tile + 1].append((fence, number))
        self.order.close()

    def check(self, wanted: Wanted) -> None:
        """Hold each tail at each stop in question, and see who passes there all the same."""
        stops: dict[Transfer, list[int]] = defaultdict(list)
        for transfer, node in dict.fromkeys([*wanted, *self._resets]):
            stops[transfer].append(node)
        execution = UntimedExecution(self._work, self._history)
        for first in execution.beginnings():
            for node in stops.get(first, ()):
                self._hold(execution, first, node, wanted.get((first, node), []))
        self.order.close()

    def _hold(self, execution: UntimedExecution, first: Transfer, node: int, others: list[Transfer]) -> None:
        with execution.holding(self.order.barrier(first, node)):
            passing = [other for other in others if execution.head_passed(other, node)]
            for other in others:
                if other not in passing:
                    self.order.add(first, other, node)
                    self._proofs[_cause(execution, other)] += 1
            for fence, number in self._resets.get((first, node), ()):
                if execution.through[fence.tile] > number:
                    self._early_resets.append((fence, first))
            met = [Collision(first, other, node, None, reason(execution, first, other)) for other in passing]
        self._passing += [located(execution, self.order, collision) for collision in met]

    def result(self) -> Masters:
        first_of: dict[tuple[Transfer, Transfer], Collision] = {}
        for collision in self._open():
            first_of.setdefault((collision.first, collision.other), collision)
        return Masters(
            self.order,
            _pairs(self._history.order, first_of),
            self._proofs,
            tuple(pair for (first, other), pair in first_of.items() if not _single(first, other)),
            tuple(dict.fromkeys([*at_once(self._work, self._history, self.order), *first_of])),
            tuple(dict.fromkeys(self._arrivals())),
            tuple(self._early_resets),
            self._history,
        )

    def _open(self) -> list[Collision]:
        """Those of which nothing else tells the order."""
        return [met for met in self._passing if not self.order.holds(met.first, met.other, met.stop)]

    def _arrivals(self) -> Iterator[tuple[Transfer, Transfer, int]]:
        """Two transfers that may reach a node which both go to in either order."""
        for met in self._open():
            for node in met.first.destinations:
                stretch = range((node - met.stop) % self._work.nodes + 1)
                base = met.first.first_stop
                way = (base + (met.stop + hops) % self._work.nodes for hops in stretch)
                if node in met.other.destinations and all(stop in met.shared for stop in way):
                    yield met.first, met.other, node


def _single(first: Transfer, other: Transfer) -> bool:
    return first.rows == other.rows == 1


def _pairs(order: list[Transfer], bad: dict[tuple[Transfer, Transfer], Collision]) -> Counter[str]:
    counts: Counter[str] = Counter(dict.fromkeys(("disjoint", "queue", "order", "single", "open"), 0))
    for first, other in combinations(order, 2):
        if (first, other) in bad:
            counts["single" if _single(first, other) else "open"] += 1
        elif not first.occupied & other.occupied:
            counts["disjoint"] += 1
        else:
            counts["queue" if first.master == other.master else "order"] += 1
    return counts


def _cause(execution: UntimedExecution, transfer: Transfer) -> str:
    """What holds a transfer back in the end."""
    item = execution.in_hand(execution.work.senders[transfer.number].queue)
    if item is None:
        return "arrival"
    if not execution.delivery.delivered(item):
        loading = execution.issued() <= execution.work.load_end <= item.place
        return "section" if loading else "fence"
    return "arrival" if execution.unmet(item) is None else "flag"
