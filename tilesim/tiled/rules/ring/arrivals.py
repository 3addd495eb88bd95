"""Whether the rows that reach a node are those that it expects: rows carry no source, so only their order tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilesim.tiled.isa.model.neighbours import node_name
from tilesim.tiled.rules.ring.masters import Masters
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.work_queues import Task, WorkQueues


def arrival_faults(duties: WorkQueues, masters: Masters) -> Iterator[str]:
    """Rows that nobody takes, consumers that get too few, and transfers whose rows may arrive in either order."""
    begun = set(masters.order)
    order = [*masters.order, *(each for each in duties.transfers if each not in begun)]
    for node in range(duties.nodes):
        sent = [each for each in order if node in each.destinations]
        taken = [task for task in _tasks(duties, node) if task.node == node]
        yield from _totals(node_name(node, duties.tiles), sent, taken)
    for first, other, node in masters.arrivals:
        yield (
            f"{first} and {other} may arrive at {node_name(node, duties.tiles)} in either order: what takes their rows "
            f"there can't tell which is which"
        )


def _tasks(duties: WorkQueues, node: int) -> list[Task]:
    return duties.queues[duties.takers[node]] if node in duties.takers else []


def _totals(place: str, sent: list[Transfer], taken: list[Task]) -> Iterator[str]:
    rows, room = sum(each.rows for each in sent), sum(task.rounds for task in taken)
    if rows > room:
        late = _from(((each, each.rows) for each in sent), room)
        missing = f"only for {room} of them" if room else "for none"
        yield f"{late} sends to {place}, where {rows} rows arrive in all but instructions are posted {missing}"
    if room > rows:
        waiting = _from(((task, task.rounds) for task in taken), rows)
        come = f"only {rows} rows arrive in all" if rows else "no row arrives"
        yield f"{waiting} waits for rows at {place}, where {room} are expected in all but {come}"


def _from(sized: Iterable[tuple[Transfer | Task, int]], before: int) -> Transfer | Task:
    """The first of some things, each so long, that ends after ``before``."""
    for thing, size in sized:
        before -= size
        if before < 0:
            return thing
    raise AssertionError("nothing ends there")
