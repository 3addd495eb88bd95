"""Two transfers that can meet, or be under way at once: which, where, and why nothing keeps them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tilesim.tiled.isa.model.fields import Flag, node_name
from tilesim.tiled.rules.ring.transfer_order import TransferOrder
from tilesim.tiled.rules.ring.transfers import Transfer, node_names
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.work_queues import Count, WorkItem

NAMED = 3
"""Instructions that a sentence names; of more it gives the number."""


@dataclass(frozen=True)
class Collision:
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
        first, other = (f"{each}, on {node_names(each.path, tiles)}," for each in (self.first, self.other))
        shared = f"they share {node_names(self.shared, tiles)}" if self.shared else "they share no node"
        can = "be under way at once" if self.at_once else f"meet at {node_name(self.stop, tiles)}"
        return f"{first} and {other} can {can} ({shared}): {self.reason}"


def reason(execution: UntimedExecution, first: Transfer, other: Transfer) -> str:
    """Why ``other`` begins in a execution in which the tail of ``first`` is held."""
    item = execution.work.senders[other.number]
    waits, name = list(_waits(execution, item)), other.beside(first)
    if waits:
        return f"{name} waits for {' and '.join(waits)}"
    who = f"the first row of {name}" if any(round_ for round_, _, _ in item.conditions) else name
    return f"no flag and no fence makes {who} wait for all of {first.beside(other)}"


def passed_before(execution: UntimedExecution, order: TransferOrder, collision: Collision) -> int | None:
    """The last stop ahead of that of a collision which all of its first transfer has passed when the other begins."""
    first, other, node = collision.first, collision.other, collision.stop
    enters = other.master if collision.at_once else node
    ahead = [each for each in first.destinations if first.hops(each) < first.hops(node)]
    for stop in (*reversed(ahead), first.master):
        with execution.holding(order.barrier(first, stop)):
            passed = not execution.head_passed(other, enters)
        if passed and stop != node:
            return stop
    return None


def half_way(first: Transfer, other: Transfer, stop: int, after: int, tiles: int) -> str:
    """Why it isn't enough that all of ``first`` has passed some stop."""
    passed = "are sent" if after == first.master else f"have passed {node_name(after, tiles)}"
    return (
        f"when {other.beside(first)} begins, all rows of {first.beside(other)} {passed}, but they need not have passed "
        f"{node_name(stop, tiles)}"
    )


def _waits(execution: UntimedExecution, item: WorkItem) -> Iterator[str]:
    """What the first row of a item waited for, and why that has come."""
    needed: dict[Count, int] = {}
    for row, count, expected in item.conditions:
        if row == 0 and expected > 0:
            needed[count] = max(expected, needed.get(count, 0))
    for count, expected in needed.items():
        _, flag, _ = count
        if flag == Flag.RING_PRODUCER_A:
            yield _turn(execution, item, expected)
        else:
            yield f"{flag} to reach {expected}, which it does without that"


def _turn(execution: UntimedExecution, item: WorkItem, expected: int) -> str:
    assert item.transfer is not None
    own = item.transfer
    passed = Counter(each.beside(own) for each in execution.passed(own.master) if each is not own)
    names = [name if count == 1 else f"{count} of {name}" for name, count in passed.items()]
    shown = [*names[:NAMED], f"{len(names) - NAMED} more"] if len(names) > NAMED else names or ["others"]
    listed = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
    what = "1 transfer" if expected == 1 else f"{expected} transfers"
    return f"{what} to have passed it, which {listed} can do without that"
