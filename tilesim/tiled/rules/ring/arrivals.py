"""What must hold where transfers arrive, and where they are counted.

Rows carry no source, so only their order tells which are which. Where those circulate that find no consumer, each must
be posted before they come. And a reset of a tile's count of transfers must come between two of them that are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice, product

from tilesim.tiled.isa.model.fields import ORDINALS, Channel, channels_of, node_name
from tilesim.tiled.rules.ring.masters import Masters
from tilesim.tiled.rules.untimed.execution import UntimedExecution
from tilesim.tiled.rules.untimed.transfer_order import Barrier, History, TransferOrder
from tilesim.tiled.rules.untimed.transfers import Transfer, first_stop
from tilesim.tiled.rules.untimed.work_queues import Fence, WorkItem, WorkQueues


def arrival_faults(work: WorkQueues, masters: Masters) -> Iterator[str]:
    """Rows that nobody takes, consumers that get too few, and transfers whose rows may arrive in either order."""
    yield from uneven_totals(work, masters.history.order)
    for first, other, node in masters.arrivals:
        yield (
            f"{first} and {other} may arrive at {node_name(node, work.tiles)} in either order: what takes their rows "
            f"there can't tell which is which"
        )


def uneven_totals(work: WorkQueues, begun: Collection[Transfer] = ()) -> Iterator[str]:
    """Nodes to which more rows are sent, or fewer, than instructions there take; the transfers that have ``begun`` come
    first, in their order.
    """
    order = [*begun, *(transfer for transfer in work.transfers if transfer not in begun)]
    for node in range(work.stops_on_ring):
        sent = [transfer for transfer in order if node in transfer.destinations]
        yield from _totals(node_name(node, work.tiles), sent, work.taking(node))


def _totals(place: str, sent: list[Transfer], taken: list[WorkItem]) -> Iterator[str]:
    rows, room = sum(transfer.rows for transfer in sent), sum(item.rounds for item in taken)
    if rows > room:
        late = _from(((transfer, transfer.rows) for transfer in sent), room)
        missing = f"only for {room} of them" if room else "for none"
        yield f"{late} sends to {place}, where {_arriving(rows)} in all, but instructions are posted {missing}"
    if room > rows:
        waiting = _from(((item, item.rounds) for item in taken), rows)
        come = f"only {_arriving(rows)} in all" if rows else "no row arrives"
        yield f"{waiting} waits for rows at {place}, where {room} are expected in all, but {come}"


def _arriving(rows: int) -> str:
    return f"{rows} row{'s' * (rows != 1)} arrive{'s' * (rows == 1)}"


def _from(sized: Iterable[tuple[Transfer | WorkItem, int]], before: int) -> Transfer | WorkItem:
    """The first of some things, each so long, that ends after ``before``."""
    for thing, size in sized:
        before -= size
        if before < 0:
            return thing
    raise AssertionError("nothing ends there")


def late_consumers(work: WorkQueues, history: History, order: TransferOrder) -> Iterator[str]:
    """Every transfer that can reach a destination before the instruction that takes its first row there is posted."""
    execution = UntimedExecution(work, history, order)
    for transfer in execution.beginnings():
        for stage, node in enumerate(transfer.destinations):
            taker = work.taker(node, history.ahead[transfer.number][stage])
            if taker is None:
                continue
            with execution.holding(Barrier(item=taker)):
                early = execution.rows[transfer.number][stage] > 0
            if early:
                yield (
                    f"{transfer} can reach {node_name(node, work.tiles)} before {taker} is posted there: its "
                    f"rows would go round, and come out of order"
                )


def early_resets(masters: Masters) -> Iterator[str]:
    """Every reset of a tile's count of transfers that one of those before it may pass after it."""
    yield from (_either(fence, last) for fence, last in masters.early_resets)


def late_resets(work: WorkQueues, history: History, order: TransferOrder) -> Iterator[str]:
    """Every such reset that one of those after it may pass before it; the order of transfers must be proven.

    Fences that are still to be tried are held until their turn: what comes before them happens once for all.
    """
    left = dict(sorted(_watched_resets(work).items(), key=lambda item: item[0].place))
    execution = UntimedExecution(work, history, order)
    while left:
        execution.go_on(Barrier(fences=frozenset(left)))
        fence = next(iter(left))
        counts = left.pop(fence)
        with execution.holding(Barrier(fences=frozenset({fence}))):
            early = [transfer for count in counts for transfer in islice(_counted(execution, fence, *count), 1)]
        yield from (_either(fence, transfer) for transfer in early)


def _watched_resets(work: WorkQueues) -> dict[Fence, list[tuple[Channel, int]]]:
    """The fences that reset a tile's count of a channel's transfers, and the number of that reset, where an instruction
    waits for what is counted from there on.
    """
    watched = {count for queue in work.queues for item in queue for _, count, _ in item.conditions}
    found: dict[Fence, list[tuple[Channel, int]]] = defaultdict(list)
    for (tile, fences), channel in product(enumerate(work.fences), channels_of(work.program.topology)):
        resets = [fence for fence in fences if ORDINALS[channel] in fence.op.reset]
        for number, fence in enumerate(resets, 1):
            if (tile, ORDINALS[channel], number) in watched:
                found[fence].append((channel, number))
    return found


def _counted(execution: UntimedExecution, fence: Fence, channel: Channel, number: int) -> Iterator[Transfer]:
    """The transfers that have passed a fence's tile and are counted behind so many resets there."""
    behind = execution.history.resets_before
    passed = execution.passed(first_stop(channel, execution.work.tiles) + fence.tile + 1)
    return (transfer for transfer in passed if behind.get((transfer.number, fence.tile), 0) >= number)


def _either(fence: Fence, transfer: Transfer) -> str:
    return (
        f"{fence.name} (tile_fence) resets {ORDINALS[transfer.channel]} of tile {fence.tile} before or after the tail "
        f"of {transfer} passes that: no flag and no fence orders the two"
    )
