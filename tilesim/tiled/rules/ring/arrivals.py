"""Whether the rows that reach a node are those that it expects: rows carry no source, so only their order tells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tilesim.tiled.isa.model.fields import node_name
from tilesim.tiled.rules.ring.masters import Masters
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.work_queues import WorkItem, WorkQueues


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
    for node in range(work.nodes):
        sent = [transfer for transfer in order if node in transfer.destinations]
        taken = [item for item in _items(work, node) if item.node == node]
        yield from _totals(node_name(node, work.tiles), sent, taken)


def _items(work: WorkQueues, node: int) -> list[WorkItem]:
    return work.queues[work.takers[node]] if node in work.takers else []


def _totals(place: str, sent: list[Transfer], taken: list[WorkItem]) -> Iterator[str]:
    rows, room = sum(each.rows for each in sent), sum(item.rounds for item in taken)
    if rows > room:
        late = _from(((each, each.rows) for each in sent), room)
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
