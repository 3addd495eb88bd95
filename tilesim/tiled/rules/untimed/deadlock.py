"""Why an execution comes to its end before the program does, be it an untimed one or the chip's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilesim.sim.deadlock import Awaited, explain
from tilesim.tiled.isa.model.fields import ORDINALS, node_name
from tilesim.tiled.isa.model.instructions import ScalarFence, TileFence
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.transfers import Transfer, first_stop
from tilesim.tiled.rules.untimed.work_queues import (
    CONTROLLER,
    FORWARDED,
    RESULTS,
    Count,
    Fence,
    WorkItem,
    WorkQueues,
)


def fence_faults(work: WorkQueues) -> Iterator[str]:
    """Every scalar fence that waits for more tile fences than are issued before it."""
    left = 0
    for name, op in work.instructions:
        if isinstance(op, TileFence):
            left += op.increment * op.tiles.bit_count()
        elif isinstance(op, ScalarFence):
            left -= op.count
            if left < 0:
                there = op.count + left
                added = f"those before it add only {there}" if there else "those before it add none"
                yield (
                    f"{name} (scalar_fence) waits for {op.count} tile fence{'s' * (op.count != 1)}, but {added}: one a "
                    "tile that is fenced with an increment"
                )
                left = 0


def deadlocks(execution: UntimedExecution) -> list[str]:
    """A sentence for each circle of waits, and each wait without an end, among what an execution has left undone."""
    return explain(execution.unfinished(), partial(_awaited, execution))


def _awaited(execution: UntimedExecution, item: WorkItem) -> Awaited[WorkItem]:
    """What an item in hand that can't go on waits for."""
    if not execution.delivery.delivered(item):
        return _delivery(execution, item)
    unmet = execution.unmet(item)
    if unmet is not None and execution.progress[item.queue] >= unmet[0]:
        return _flag(execution, item, unmet[1], unmet[2])
    if item.node is not None:
        return _rows(execution, item, item.node)
    if item.needs_partner:
        return _partner(execution, item)
    return Awaited("its turn") if item.transfer is None else _way(execution, item.transfer)


def _delivery(execution: UntimedExecution, item: WorkItem) -> Awaited[WorkItem]:
    """Why an instruction hasn't come: a fence of its tile, or of the one that starts its broadcast, one of the
    controller, or a full buffer.
    """
    for tile in (item.tile, item.starter):
        if tile is not None and (held := _fenced(execution, item, tile)):
            return held
    if item.place < execution.issued():
        return _bus(execution, item)
    stop = execution.work.stops[execution.controller["stop"]]
    if stop.fences is None:
        left = (earlier for earlier in execution.unfinished() if earlier.place < stop.place)
        return Awaited(stop.name, next(left, None))
    fences = filter(None, map(execution.next_fence, range(execution.work.tiles)))
    late = next((fence for fence in fences if fence.place < stop.place), None)
    return Awaited(f"{stop.name} (scalar_fence)", None if late is None else _undrained(execution, late))


def _fenced(execution: UntimedExecution, item: WorkItem, tile: int) -> Awaited[WorkItem] | None:
    """A wait for a fence of a tile that stands before an instruction and is not through, if there is one."""
    fence = execution.next_fence(tile)
    undrained = None if fence is None else _undrained(execution, fence)
    if fence is None or undrained is None or fence.place >= min(item.place, execution.issued()):
        return None
    return Awaited(f"{fence.name} (tile_fence of tile {tile})", undrained)


def _bus(execution: UntimedExecution, item: WorkItem) -> Awaited[WorkItem]:
    """What stalls the instruction bus on the way to an instruction's tile: a full buffer, or a fence."""
    holder = execution.delivery.holder()
    if holder is None:
        held = (_fenced(execution, item, tile) for tile in range(execution.work.tiles))
        return next(filter(None, held), Awaited("the instruction bus"))
    return Awaited(f"a place in the buffer in which {holder} stands first", holder)


def _undrained(execution: UntimedExecution, fence: Fence) -> WorkItem | None:
    return next((execution.in_hand(queue) for queue, n in fence.drained if execution.done[queue] < n), None)


def _flag(execution: UntimedExecution, item: WorkItem, count: Count, expected: int) -> Awaited[WorkItem]:
    tile, flag, resets = count
    stands = execution.count(count)
    for channel, ordinal in ORDINALS.items():
        if flag == ordinal:
            first = first_stop(channel, execution.work.tiles)
            return _turn(execution, first if tile == CONTROLLER else first + tile + 1, expected, stands)
    if count == FORWARDED:
        return Awaited("rows to forward", _taker(execution, execution.work.tiles + 2))
    if count == RESULTS:
        return Awaited("what the host makes of results", _taker(execution, execution.work.tiles + 2))
    words = f"{flag} to reach {expected}; it stands at {stands}"
    items = (raiser for queue in execution.work.tile_queues[tile] for raiser in execution.work.queues[queue])
    raisers = [raiser for raiser in items if raiser.rises]
    now = [raiser for raiser in raisers if raiser.raises == count and raiser is not item]
    left = [raiser for raiser in now if execution.done[raiser.queue] <= raiser.number]
    if left:
        return Awaited(f"{words}, and {left[0].name} is to raise it", execution.in_hand(left[0].queue))
    earlier = not now and any(raiser.raises == (tile, flag, k) for raiser in raisers for k in range(resets))
    return Awaited(f"{words}, and nothing else raises it{' since a fence set it back' if earlier else ''}")


def _turn(execution: UntimedExecution, node: int, expected: int, stands: int) -> Awaited[WorkItem]:
    """Why too few transfers pass: the order of the masters' turns must be that in which they come by on the ring."""
    turns = "a transfer" if expected == 1 else f"{expected} transfers"
    words = f"{turns} to pass {node_name(node, execution.work.tiles)} before it, and {stands or 'none'} can"
    for transfer in execution.work.transfers:
        if transfer.passes(node) and transfer.master != node and not execution.tail_passed(transfer, node):
            return Awaited(f"{words} until {transfer.name} does", _blocker(execution, transfer))
    return Awaited(f"{words}: no other comes by, so that the turn never comes")


def _rows(execution: UntimedExecution, item: WorkItem, node: int) -> Awaited[WorkItem]:
    row = execution.taken[node] - item.takes_before
    words = f"row {row} of {item.rounds}"
    for transfer in execution.work.transfers:
        taken = execution.rows[transfer.number][transfer.stage(transfer.hops(node))]
        if node in transfer.destinations and taken < transfer.rows:
            return Awaited(f"{words}, and {transfer.name} is to send it", _blocker(execution, transfer, item))
    return Awaited(f"{words}, and nothing sends it")


def _way(execution: UntimedExecution, transfer: Transfer) -> Awaited[WorkItem]:
    """Why a master can't send the rest of a transfer: it has no more, or rows are in the way, of another or its own."""
    if execution.rows[transfer.number][0] == execution.work.host_rows.get(transfer.number):
        return Awaited("rows of which the host has no more")
    first = execution.in_the_way(transfer, transfer.destinations[-1])
    if first is not None:
        return Awaited(f"{first} to go first", _blocker(execution, first))
    nodes = execution.awaiting(transfer)
    if not nodes:
        return Awaited("its turn")
    place = node_name(nodes[-1], execution.work.tiles)
    room = ", whatever room the ring has" if execution.until_taken else ""
    return Awaited(f"its rows to be taken at {place}{room}", _taker(execution, nodes[-1]))


def _blocker(
    execution: UntimedExecution, transfer: Transfer, waiter: WorkItem | None = None, behind: tuple[Transfer, ...] = ()
) -> WorkItem | None:
    """The item, other than the one that waits, for which a transfer does: who is to take its rows, or those of another
    in its way, or who is to send them, or what is before that.
    """
    nodes = execution.awaiting(transfer)
    if not nodes:
        return execution.in_hand(execution.work.senders[transfer.number].queue)
    other = execution.in_the_way(transfer, nodes[0])
    if other is not None and other not in behind:
        return _blocker(execution, other, waiter, (*behind, transfer))
    return next((taker for node in nodes if (taker := _taker(execution, node)) is not waiter), None)


def _taker(execution: UntimedExecution, node: int) -> WorkItem | None:
    """The item in hand of the queue that takes rows at a node."""
    takers = execution.work.takers
    return execution.in_hand(takers[node]) if node in takers else None


def _partner(execution: UntimedExecution, item: WorkItem) -> Awaited[WorkItem]:
    if item.partner is None:
        return Awaited("the other end of its mesh link, where no instruction is left")
    return Awaited(f"{item.partner} at the other end of its mesh link", execution.in_hand(item.partner.queue))
