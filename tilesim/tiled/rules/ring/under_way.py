"""Which transfers can be under way at once, which the stricter readings of the rule for masters forbid.

The tail of each is held at the last of its destinations, so that it is never over. What does not enter the ring even
then, with everything else as far as it can be, does not before that one is over, whatever the delays. What does may.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace

from tilesim.tiled.rules.ring.collisions import Collision, half_way, passed_before, reason
from tilesim.tiled.rules.ring.transfer_order import TransferOrder
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.history import History
from tilesim.tiled.rules.untimed.work_queues import WorkItem, WorkQueues

Pair = tuple[Transfer, Transfer]
"""Two transfers of different masters, in the order in which they can go."""


def at_once(work: WorkQueues, history: History, order: TransferOrder) -> list[Pair]:
    """All pairs that can be under way at once; ``history`` and ``order`` are what is proven of their order."""
    places = {transfer.number: place for place, transfer in enumerate(history.order)}
    pairs: list[Pair] = []

    def look(execution: UntimedExecution, first: Transfer) -> None:
        later = history.order[places[first.number] + 1 :] if first.number in places else []
        with execution.holding(order.barrier(first, first.destinations[-1])):
            others = (other for other in later if other.master != first.master)
            pairs.extend((first, other) for other in others if execution.head_passed(other, other.master))

    _look_at_each(work, history, look)
    return pairs


def explained(work: WorkQueues, history: History, order: TransferOrder, pairs: Iterable[Pair]) -> list[Collision]:
    """Why some pairs can be."""
    others: dict[Transfer, list[Transfer]] = defaultdict(list)
    for first, other in pairs:
        others[first].append(other)
    collisions: list[Collision] = []

    def look(execution: UntimedExecution, first: Transfer) -> None:
        for other in others.get(first, ()):
            last = first.destinations[-1]
            with execution.holding(order.barrier(first, last)):
                why = reason(execution, first, other)
            pair = Collision(first, other, last, None, why, at_once=True)
            after = passed_before(execution, order, pair)
            why = why if after is None else half_way(first, other, last, after, work.tiles)
            collisions.append(replace(pair, after=after, reason=why))

    _look_at_each(work, history, look)
    return collisions


def _look_at_each(work: WorkQueues, history: History, look: Callable[[UntimedExecution, Transfer], None]) -> None:
    """Look at an execution whenever it lets a transfer begin."""
    execution = UntimedExecution(work, history)

    def before(item: WorkItem) -> None:
        assert item.transfer is not None
        look(execution, item.transfer)

    execution.run(before)
