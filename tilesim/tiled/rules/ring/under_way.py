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
from tilesim.tiled.rules.untimed.play import Play
from tilesim.tiled.rules.untimed.situation import History
from tilesim.tiled.rules.untimed.work_queues import Task, WorkQueues

Pair = tuple[Transfer, Transfer]
"""Two transfers of different masters, in the order in which they can go."""


def at_once(duties: WorkQueues, history: History, precedence: TransferOrder) -> list[Pair]:
    """All pairs that can be under way at once; ``history`` and ``precedence`` are what is proven of their order."""
    places = {transfer.number: place for place, transfer in enumerate(history.order)}
    found: list[Pair] = []

    def look(play: Play, first: Transfer) -> None:
        later = history.order[places[first.number] + 1 :] if first.number in places else []
        play.without(precedence.barrier(first, first.destinations[-1]))
        entered = (each for each in later if each.master != first.master and play.head_passed(each, each.master))
        found.extend((first, each) for each in entered)
        play.rewind()

    _each(duties, history, look)
    return found


def explained(
    duties: WorkQueues, history: History, precedence: TransferOrder, pairs: Iterable[Pair]
) -> list[Collision]:
    """Why some pairs can be."""
    others: dict[Transfer, list[Transfer]] = defaultdict(list)
    for first, other in pairs:
        others[first].append(other)
    found: list[Collision] = []

    def look(play: Play, first: Transfer) -> None:
        for other in others.get(first, ()):
            last = first.destinations[-1]
            play.without(precedence.barrier(first, last))
            why = reason(play, first, other)
            play.rewind()
            pair = Collision(first, other, last, None, why, at_once=True)
            after = passed_before(play, precedence, pair)
            why = why if after is None else half_way(first, other, last, after, duties.tiles)
            found.append(replace(pair, after=after, reason=why))

    _each(duties, history, look)
    return found


def _each(duties: WorkQueues, history: History, look: Callable[[Play, Transfer], None]) -> None:
    """Look at a play whenever it lets a transfer begin."""
    play = Play(duties, history)

    def before(task: Task) -> None:
        assert task.transfer is not None
        look(play, task.transfer)

    play.run(before)
