"""How far a play of a program has come: who has done what, what flags and fences have counted, where rows are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tilesim.tiled.isa.model.instructions import Infeed
from tilesim.tiled.rules.ring.transfers import Transfer
from tilesim.tiled.rules.untimed.work_queues import CONTROLLER, Count, Fence, Task, WorkQueues

Cells = Any
"""A list or dict of numbers."""
NEVER = 1 << 62


@dataclass(frozen=True)
class Barrier:
    """The last row of ``transfer`` doesn't pass the stop ``node``, nor those behind that, and nor do the transfers
    ``behind`` it there (by number); or ``task`` doesn't begin, or ``fence`` isn't through.
    """

    transfer: Transfer | None = None
    node: int = 0
    behind: frozenset[int] = frozenset()
    task: Task | None = None
    fence: Fence | None = None

    def holds(self, transfer: Transfer, hops: int) -> bool:
        """Whether a transfer's tail is held up to a stop so many hops from its master."""
        held = transfer is self.transfer or transfer.number in self.behind
        return held and hops >= transfer.hops(self.node)

    def stops(self, transfer: Transfer, hops: int) -> bool:
        """Whether all its rows are."""
        return transfer.number in self.behind and hops >= transfer.hops(self.node)


@dataclass
class History:
    """What a play has found: the ``order`` in which transfers began, the rows ahead of each at each of its
    destinations (by number), and which tails came before each reset of a tile's count of them.
    """

    order: list[Transfer]
    ahead: dict[int, list[int]]
    resets_before: dict[tuple[int, int], int]
    last_before_reset: list[tuple[Fence, int, Transfer]]


class Situation:
    """Where a play of some duties stands; what changes is noted while there is a log, and can be taken back."""

    def __init__(self, duties: WorkQueues, history: History | None = None) -> None:
        self.duties = duties
        queues = len(duties.queues)
        self.done = [0] * queues
        """Tasks that each queue has done."""
        self.progress, self.held, self.limit = [0] * queues, [0] * queues, [0] * queues
        """Of the task in hand: rounds done, watchers met, and rounds for which they are."""
        self.counts: dict[Count, int] = {}
        self.rows = [[0] * (len(each.destinations) + 1) for each in duties.transfers]
        """Rows of each transfer that have left its master, and each of its destinations."""
        self.tails = [0] * len(duties.transfers)
        """Stops that the last row of each has passed."""
        self.taken, self.room = [0] * duties.nodes, [0] * duties.nodes
        """Rows that have been taken at each node, and for how many consumers have been posted."""
        self.through = [0] * duties.tiles
        """Tile fences that are through."""
        self.controller = {"stop": 0, "increments": 0}
        self.ready: dict[int, Task] = {}
        self.released: set[int] = set()
        self.barrier: Barrier | None = None
        self.known = history is not None
        self.history = history or History([], {}, {}, [])
        self._resets = [0] * duties.tiles
        self._last_tail: list[Transfer | None] = [None] * duties.tiles
        self._log: list[tuple[Cells, Any, Any]] | None = None
        self._heading: list[list[Transfer]] = [[] for _ in range(duties.nodes)]
        for transfer in duties.transfers:
            for node in transfer.destinations:
                self._heading[node].append(transfer)
        self._host_rows = _host_rows(duties)

    def head_passed(self, transfer: Transfer, node: int) -> bool:
        """Whether a row of a transfer has passed a stop."""
        if self.barrier is not None and self.barrier.stops(transfer, transfer.hops(node)):
            return False
        return self.rows[transfer.number][stage_of(transfer, transfer.hops(node))] > 0

    def over(self, transfer: Transfer) -> bool:
        """Whether all rows have reached their last destination."""
        return self.rows[transfer.number][-1] == transfer.rows

    def in_hand(self, queue: int) -> Task | None:
        """The task that a queue has not yet done."""
        tasks = self.duties.queues[queue]
        return tasks[self.done[queue]] if self.done[queue] < len(tasks) else None

    def unfinished(self) -> Iterable[Task]:
        """The tasks in hand of all queues that have any left."""
        return filter(None, (self.in_hand(queue) for queue in range(len(self.duties.queues))))

    def issued(self) -> int:
        """The controller has issued what stands before this place."""
        stop = self.controller["stop"]
        return self.duties.stops[stop].place if stop < len(self.duties.stops) else NEVER

    def delivered(self, task: Task) -> bool:
        """Whether an instruction has come to its engine."""
        return task.place < min(self.issued(), self._fence_place(task.tile))

    def in_load(self) -> bool:
        """Whether the load program is still being issued, or is not over."""
        return self.issued() <= self.duties.load_end

    def passed(self, node: int) -> list[Transfer]:
        """The transfers whose tails have passed a stop."""
        return [each for each in self.duties.transfers if each.passes(node) and self.tail_passed(each, node)]

    def tail_passed(self, transfer: Transfer, node: int) -> bool:
        """Whether the last row of a transfer has passed a stop on its way."""
        return self.tails[transfer.number] > transfer.hops(node)

    def next_fence(self, tile: int) -> Fence | None:
        """The first tile fence of a tile that is not through."""
        if tile == CONTROLLER or self.through[tile] == len(self.duties.fences[tile]):
            return None
        return self.duties.fences[tile][self.through[tile]]

    def bus_waits_for(self) -> Task | None:
        """The task that must go on before the instruction bus does; here its buffers are endless."""
        return None

    def unmet(self, task: Task) -> tuple[int, Count, int] | None:
        """What holds a task in hand, if a watcher does."""
        held = self.held[task.queue]
        return task.holds[held] if held < len(task.holds) else None

    def count(self, count: Count) -> int:
        return self.counts.get(count, 0)

    def rewind(self) -> None:
        assert self._log is not None
        for cells, at, value in reversed(self._log):
            cells[at] = value
        self._log = self.barrier = None

    def _put(self, cells: Cells, at: Any, value: Any) -> None:
        if self._log is not None:
            self._log.append((cells, at, cells[at]))
        cells[at] = value

    def _fence_place(self, tile: int) -> int:
        fence = self.next_fence(tile)
        return NEVER if fence is None else fence.place

    def _ahead(self, transfer: Transfer) -> list[int]:
        """Rows that come before a transfer's at each of its destinations."""
        return self.history.ahead.get(transfer.number) or [0] * len(transfer.destinations)


def stage_of(transfer: Transfer, hops: int) -> int:
    """How many destinations a row has left that passes the stop ``hops`` from the master."""
    return bisect_right([transfer.hops(node) for node in transfer.destinations], hops)


def _host_rows(duties: WorkQueues) -> dict[int, int]:
    """For each transfer from the host, how many of its rows the host has."""
    left = sum(tensor.rows for tensor in duties.program.inputs)
    found = {}
    for transfer in duties.transfers:
        if isinstance(transfer.op, Infeed) and transfer.op.source == "host":
            found[transfer.number] = min(left, transfer.rows)
            left -= found[transfer.number]
    return found
