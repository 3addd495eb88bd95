"""Two transfers that can meet, or be under way at once: which, where, and why nothing keeps them apart.

To see which can be under way at once, as the stricter readings of the rule for masters forbid, the tail of each is held
at the last of its destinations, so that it is never over. What does not enter the ring even then, with everything else
as far as it can be, does not before that one is over, whatever the delays. What does may.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from tilesim.tiled.isa.model.fields import ORDINALS, node_name
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.transfer_order import History, TransferOrder
from tilesim.tiled.rules.untimed.transfers import Transfer, node_names
from tilesim.tiled.rules.untimed.work_queues import Count, WorkItem, WorkQueues

Pair = tuple[Transfer, Transfer]
"""Two transfers of different masters, in the order in which they can go."""
NAMED = 3
"""Instructions that a sentence names; of more it gives the number."""


class Collision(Struct, frozen=True):
    """A packet of ``other`` can pass ``stop`` before the last one of ``first`` has; but that has passed ``after`` by
    then, a node on its way, if there is one. With ``at_once``: ``other`` can enter the ring, at its own master, before
    the last row of ``first`` has been taken at the last destination, ``stop``.
    """

    first: Transfer
    other: Transfer
    stop: int
    after: int | None
    reason: str
    at_once: bool = False

    @property
    def shared(self) -> list[int]:
        """The nodes that both pass."""
        return [node for node in self.first.path if self.other.passes(node)]

    def sentence(self, tiles: int) -> str:
        first, other = (f"{transfer}, on {node_names(transfer.path, tiles)}," for transfer in (self.first, self.other))
        shared = f"they share {node_names(self.shared, tiles)}" if self.shared else "they share no node"
        can = "be under way at once" if self.at_once else f"meet at {node_name(self.stop, tiles)}"
        return f"{first} and {other} can {can} ({shared}): {self.reason}"


def at_once(work: WorkQueues, history: History, order: TransferOrder) -> Iterator[Pair]:
    """All pairs that can be under way at once; ``history`` and ``order`` are what is proven of their order."""
    places = {transfer.number: place for place, transfer in enumerate(history.order)}
    execution = UntimedExecution(work, history)
    for first in execution.beginnings():
        if first.number not in places:
            continue  # it began only because others are assumed to; they wait without end, which is told
        later = history.order[places[first.number] + 1 :]
        with execution.holding(order.barrier(first, first.destinations[-1])):
            others = (other for other in later if other.channel is first.channel and other.master != first.master)
            pairs = [(first, other) for other in others if execution.head_passed(other, other.master)]
        yield from pairs


def explained(work: WorkQueues, history: History, order: TransferOrder, pairs: Iterable[Pair]) -> Iterator[Collision]:
    """Why some pairs can be."""
    others: dict[Transfer, list[Transfer]] = defaultdict(list)
    for first, other in pairs:
        others[first].append(other)
    execution = UntimedExecution(work, history)
    for first in execution.beginnings():
        last = first.destinations[-1]
        for other in others.get(first, ()):
            with execution.holding(order.barrier(first, last)):
                why = reason(execution, first, other)
            yield located(execution, order, Collision(first, other, last, None, why, at_once=True))


def reason(execution: UntimedExecution, first: Transfer, other: Transfer) -> str:
    """Why ``other`` begins in an execution in which the tail of ``first`` is held."""
    item = execution.work.senders[other.number]
    waits, name = list(_waits(execution, item)), other.beside(first)
    if waits:
        return f"{name} waits for {' and '.join(waits)}"
    who = f"the first row of {name}" if any(round_ for round_, _, _ in item.conditions) else name
    return f"no flag and no fence makes {who} wait for all of {first.beside(other)}"


def located(execution: UntimedExecution, order: TransferOrder, collision: Collision) -> Collision:
    """A collision with the last stop ahead of its own which all of its first transfer has passed when the other begins.

    If there is one, that is the reason: it isn't enough.
    """
    first, other, tiles = collision.first, collision.other, execution.work.tiles
    after = _passed_before(execution, order, collision)
    if after is None:
        return collision
    passed = "are sent" if after == first.master else f"have passed {node_name(after, tiles)}"
    why = (
        f"when {other.beside(first)} begins, all rows of {first.beside(other)} {passed}, but they need not have passed "
        f"{node_name(collision.stop, tiles)}"
    )
    return replace(collision, after=after, reason=why)


def _passed_before(execution: UntimedExecution, order: TransferOrder, collision: Collision) -> int | None:
    first, other, node = collision.first, collision.other, collision.stop
    enters = other.master if collision.at_once else node
    ahead = [stop for stop in first.destinations if first.hops(stop) < first.hops(node)]
    for stop in (*reversed(ahead), first.master):
        with execution.holding(order.barrier(first, stop)):
            passed = not execution.head_passed(other, enters)
        if passed and stop != node:
            return stop
    return None


def _waits(execution: UntimedExecution, item: WorkItem) -> Iterator[str]:
    """What the first row of an item waited for, and why that has come."""
    needed: dict[Count, int] = {}
    for row, count, expected in item.conditions:
        if row == 0 and expected > 0:
            needed[count] = max(expected, needed.get(count, 0))
    for count, expected in needed.items():
        _, flag, _ = count
        if flag in ORDINALS.values():
            yield _turn(execution, item, expected)
        else:
            yield f"{flag} to reach {expected}, which it does without that"


def _turn(execution: UntimedExecution, item: WorkItem, expected: int) -> str:
    assert item.transfer is not None
    own = item.transfer
    passed = Counter(transfer.beside(own) for transfer in execution.passed(own.master) if transfer is not own)
    names = [name if count == 1 else f"{count} of {name}" for name, count in passed.items()]
    shown = [*names[:NAMED], f"{len(names) - NAMED} more"] if len(names) > NAMED else names or ["others"]
    listed = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
    what = "1 transfer" if expected == 1 else f"{expected} transfers"
    return f"{what} to have passed it, which {listed} can do without that"
