"""Why a play came to its end before the program did: who waits for whom, in a circle or for what never comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.isa.model.neighbours import node_name
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.play import Play
from tilesim.tiled.rules.untimed.work_queues import FORWARDED, Count, Fence, Task

NAMED = 8
"""Causes that are named, and waits of a circle; of more only the number is given."""


class Wait(NamedTuple):
    """What a task waits for, in words, and the task on which that depends, if there is one."""

    words: str
    on: Task | None


def impasse(play: Play) -> list[str]:
    """A sentence for each circle of waits, and each wait without an end, among what a play has left undone."""
    found: dict[str, None] = {}
    explained: set[int] = set()
    for task in play.unfinished():
        found.update(dict.fromkeys(_followed(play, task, explained)))
    sentences = list(found)
    more = [f"and {len(sentences) - NAMED} more"] if len(sentences) > NAMED else []
    return sentences[:NAMED] + more


def _followed(play: Play, task: Task, explained: set[int]) -> Iterator[str]:
    """Follow the waits from a task on until they end, or come to one that was there before."""
    way: list[Task] = []
    words: list[str] = []
    here: Task | None = task
    while here is not None and id(here) not in explained:
        explained.add(id(here))
        way.append(here)
        wait = waits_for(play, here)
        words.append(f"{here} waits for {wait.words}")
        here = wait.on
        if here is None:
            yield words[-1]
    if here in way:
        circle = words[way.index(here) :]
        more = [f"and so on, through {len(circle) - NAMED} more"] if len(circle) > NAMED else []
        yield "these wait in a circle: " + "; ".join(circle[:NAMED] + more)


def waits_for(play: Play, task: Task) -> Wait:
    """What a task in hand that can't go on waits for."""
    if not play.delivered(task):
        return _delivery(play, task)
    hold = play.unmet(task)
    if hold is not None:
        return _flag(play, task, hold[1], hold[2])
    if task.node is not None:
        return _rows(play, task, task.node)
    if task.needs_partner:
        return _partner(play, task)
    if isinstance(task.op, Infeed) and task.op.source == "host":
        return Wait("rows of which the host has no more", None)
    return Wait("its turn", None)


def _delivery(play: Play, task: Task) -> Wait:
    """Why an instruction hasn't come: a fence of its tile, one of the controller, or a full buffer."""
    fence = play.next_fence(task.tile)
    if fence is not None and fence.place < min(task.place, play.issued()) and _undrained(play, fence):
        return Wait(f"{fence.name} (tile_fence of tile {task.tile})", _undrained(play, fence))
    if task.place < play.issued():
        holder = play.bus_waits_for()
        return Wait(f"a place in the buffer in which {holder} stands first", holder)
    stop = play.duties.stops[play.controller["stop"]]
    if stop.fences is None:
        left = (each for each in play.unfinished() if each.place < stop.place)
        return Wait(stop.name, next(left, None))
    fences = (play.next_fence(tile) for tile in range(play.duties.tiles))
    late = next((each for each in fences if each is not None and each.place < stop.place), None)
    return Wait(f"{stop.name} (scalar_fence)", None if late is None else _undrained(play, late))


def _undrained(play: Play, fence: Fence) -> Task | None:
    return next((play.in_hand(queue) for queue, count in fence.drained if play.done[queue] < count), None)


def _flag(play: Play, task: Task, count: Count, expected: int) -> Wait:
    tile, flag, _ = count
    stands = play.count(count)
    if flag == Flag.RING_PRODUCER_A:
        return _turn(play, tile, expected, stands)
    if count == FORWARDED:
        return Wait("rows to forward", play.in_hand(play.duties.takers[play.duties.tiles + 2]))
    words = f"{flag} to reach {expected}; it stands at {stands}"
    raisers = [each for queue in play.duties.watchers(tile) for each in play.duties.queues[queue]]
    left = [each for each in raisers if each.raises == count and each.rises and play.done[each.queue] <= each.number]
    others = [each for each in left if each is not task]
    if not others:
        return Wait(f"{words}, and nothing else raises it", None)
    return Wait(f"{words}, and {others[0].name} is to raise it", play.in_hand(others[0].queue))


def _turn(play: Play, tile: int, expected: int, stands: int) -> Wait:
    """Why too few transfers pass: the order of the masters' turns must be that in which they come by on the ring."""
    node = tile + 1
    turns = "a transfer" if expected == 1 else f"{expected} transfers"
    words = f"{turns} to pass {node_name(node, play.duties.tiles)} before it, and {stands or 'none'} can"
    for transfer in play.duties.transfers:
        if transfer.passes(node) and transfer.master != node and not play.tail_passed(transfer, node):
            return Wait(f"{words} until {transfer.name} does", _missing(play, transfer))
    return Wait(f"{words}: no other comes by, so that the turn never comes", None)


def _rows(play: Play, task: Task, node: int) -> Wait:
    row = play.taken[node] - task.takes_before
    words = f"row {row} of {task.rounds}"
    for transfer in play.duties.transfers:
        if node in transfer.destinations and not _arrived(play, transfer, node):
            return Wait(f"{words}, and {transfer.name} is to send it", _missing(play, transfer))
    return Wait(f"{words}, and nothing sends it", None)


def _arrived(play: Play, transfer: Transfer, node: int) -> bool:
    return play.rows[transfer.number][transfer.destinations.index(node) + 1] == transfer.rows


def _missing(play: Play, transfer: Transfer) -> Task | None:
    """The task for which a transfer waits: its own sender, what is before that, or the next one to take its rows."""
    rows = play.rows[transfer.number]
    for stage, node in enumerate(transfer.destinations, 1):
        if rows[stage] < rows[stage - 1]:
            return play.in_hand(play.duties.takers[node]) if node in play.duties.takers else None
    return play.in_hand(play.duties.senders[transfer.number].queue)


def _partner(play: Play, task: Task) -> Wait:
    if task.partner is None:
        return Wait("the other end of its mesh link, where no instruction is left", None)
    return Wait(f"{task.partner} at the other end of its mesh link", play.in_hand(task.partner.queue))
