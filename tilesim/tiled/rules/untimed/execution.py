"""The chip without time: whatever can happen does, until nothing more can.

More never hinders: an instruction that may go on may still do so when others have gone on as well. So if something
can't happen while one thing is kept from happening, the one comes before the other, whatever the delays.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from tilesim.tiled.isa.model.fields import ORDINALS, channels_of
from tilesim.tiled.rules.untimed.transfer_order import Barrier, History, TransferOrder
from tilesim.tiled.rules.untimed.transfers import Transfer, first_stop
from tilesim.tiled.rules.untimed.work_queues import CONTROLLER, Condition, Count, Fence, Stop, WorkItem, WorkQueues

Cells = Any
"""A list or dict of numbers."""
Log = list[tuple[Cells, Any, Any]]
"""What has changed: where, and what stood there before."""
NEVER = 1 << 62
NO_BARRIER = Barrier()
"""One that keeps nothing from happening."""


class InstructionDelivery:
    """How instructions come to their engines: with endless buffers as soon as they are issued, but for those behind a
    fence of their tile, or of the one that starts their broadcast.
    """

    def __init__(self, execution: UntimedExecution) -> None:
        self.execution = execution

    def delivered(self, item: WorkItem) -> bool:
        """Whether an instruction has come to its engine."""
        return item.place < min(self.execution.issued(), self.execution.fence_place(item.tile)) and self._sent_on(item)

    def reached(self, fence: Fence) -> bool:
        """Whether a fence has come to its tile."""
        return fence.place < self.execution.issued() and self._sent_on(fence)

    def _sent_on(self, what: WorkItem | Fence) -> bool:
        """Whether the tile that starts the broadcast of an instruction, if one does, has got to it."""
        return what.starter is None or what.place < self.execution.fence_place(what.starter)

    def advance(self) -> bool:
        """Move instructions on as far as they go; whether any did."""
        return False

    def holder(self) -> WorkItem | None:
        """Who must go on before the instruction bus does, if it is stalled."""
        return None


class UntimedExecution:
    """An execution of a program's work queues, and how far it has come.

    On its own it lets transfers begin one after the other, each when nothing else can happen, in the order of the
    program. With the ``history`` of such an execution it assumes what that found out: which rows come first at a stop,
    and what a reset comes after. With an ``order`` a transfer passes a stop only behind all those that are known to
    come before it there. ``delivery`` says how instructions come to their engines. Rows leave their master whatever
    room there is for them; with ``until_taken`` when they are taken, so that no place on the ring is counted on.
    """

    def __init__(
        self,
        work: WorkQueues,
        history: History | None = None,
        order: TransferOrder | None = None,
        delivery: Callable[[UntimedExecution], InstructionDelivery] = InstructionDelivery,
        until_taken: bool = False,
    ) -> None:
        self.work = work
        queues = len(work.queues)
        self.done = [0] * queues
        """Items that each queue has done."""
        self.progress, self.met, self.limit = [0] * queues, [0] * queues, [0] * queues
        """Of the item in hand: rounds done, watchers met, and rounds for which they are."""
        self.counts = defaultdict[Count, int](int)
        self.rows = [[0] * (len(transfer.destinations) + 1) for transfer in work.transfers]
        """Rows of each transfer that have left its master, and each of its destinations."""
        self.tails = [0] * len(work.transfers)
        """Stops that the last row of each has passed."""
        self.taken, self.room = [0] * work.stops_on_ring, [0] * work.stops_on_ring
        """Rows that have been taken at each node, and for how many consumers have been posted."""
        self.through = [0] * work.tiles
        """Tile fences that are through."""
        self.controller = {"stop": 0, "increments": 0}
        self.history = history or History()
        self._recording = history is None
        self._order = order
        self.until_taken = until_taken
        self.tails_at, self._held_at = [0] * work.stops_on_ring, [0] * work.stops_on_ring
        """With an order: the transfers whose tails have passed each stop, and those held there, as bitmaps."""
        self._clear = [0] * len(work.transfers)
        """And at how many stops nothing is in the way of each any more."""
        self._ready: dict[int, WorkItem] = {}
        self._released: set[int] = set()
        self._barrier = NO_BARRIER
        self._resets = [0] * work.stops_on_ring
        """Of each stop's count of transfers, and the last that it has counted."""
        self._last_tail: list[Transfer | None] = [None] * work.stops_on_ring
        self._log: Log | None = None
        self._heading = [
            [sent for sent in work.transfers if node in sent.destinations] for node in range(work.stops_on_ring)
        ]
        self._ranks = {transfer.number: rank for rank, transfer in enumerate(self.history.order)} if order else {}
        self._worklist = deque(range(queues))
        self._behind: deque[Transfer] = deque()
        self.delivery = delivery(self)

    # How far it has come

    def head_passed(self, transfer: Transfer, node: int) -> bool:
        """Whether a row of a transfer has passed a stop."""
        hops = transfer.hops(node)
        return not self._barrier.stops(transfer, hops) and self.rows[transfer.number][transfer.stage(hops)] > 0

    def tail_passed(self, transfer: Transfer, node: int) -> bool:
        """Whether the last row of a transfer has passed a stop on its way."""
        return self.tails[transfer.number] > transfer.hops(node)

    def passed(self, node: int) -> list[Transfer]:
        """The transfers whose tails have passed a stop."""
        passing = (transfer for transfer in self.work.transfers if transfer.passes(node))
        return [transfer for transfer in passing if self.tail_passed(transfer, node)]

    def in_the_way(self, transfer: Transfer, node: int) -> Transfer | None:
        """The first transfer that must pass before this one does, on its way up to a node."""
        if self._order is None or self._is_clear(transfer, self._order, transfer.hops(node)):
            return None
        return self._order.first(self._ahead(transfer, self._order, self._clear[transfer.number]))

    def awaiting(self, transfer: Transfer) -> list[int]:
        """Where rows of a transfer that are on their way are to be taken next."""
        rows = self.rows[transfer.number]
        return [node for k, node in enumerate(transfer.destinations) if rows[k + 1] < rows[k]]

    def in_hand(self, queue: int) -> WorkItem | None:
        """The item that a queue has not yet done."""
        items = self.work.queues[queue]
        return items[self.done[queue]] if self.done[queue] < len(items) else None

    def unfinished(self) -> Iterable[WorkItem]:
        """The items in hand of all queues that have any left."""
        return filter(None, (self.in_hand(queue) for queue in range(len(self.work.queues))))

    def issued(self) -> int:
        """The controller has issued what stands before this place."""
        stop = self.controller["stop"]
        return self.work.stops[stop].place if stop < len(self.work.stops) else NEVER

    def next_fence(self, tile: int) -> Fence | None:
        """The first tile fence of a tile that is not through."""
        if tile == CONTROLLER or self.through[tile] == len(self.work.fences[tile]):
            return None
        return self.work.fences[tile][self.through[tile]]

    def fence_place(self, tile: int) -> int:
        fence = self.next_fence(tile)
        return NEVER if fence is None else fence.place

    def unmet(self, item: WorkItem) -> Condition | None:
        """What holds an item in hand, if a watcher does."""
        left = islice(item.conditions, self.met[item.queue], None)
        return next((condition for condition in left if self.count(condition[1]) < condition[2]), None)

    def count(self, count: Count) -> int:
        return self.counts.get(count, 0)  # a look adds nothing

    # How it goes on

    def run(self) -> None:
        """Let everything happen that can."""
        for _ in self.beginnings():
            pass

    def beginnings(self) -> Iterator[Transfer]:
        """The same, transfers one by one; each comes just before it begins."""
        self._check_fences_and_stops()
        self._settle()
        while self._ready:
            transfer = self.work.transfers[min(self._ready, key=self._rank)]
            yield transfer
            self._released.add(transfer.number)
            if self._recording:
                self.history.begin(transfer)
            self._worklist.append(self._ready.pop(transfer.number).queue)
            self._settle()

    @contextmanager
    def holding(self, barrier: Barrier) -> Iterator[None]:
        """Everything has happened that can in spite of a barrier; it is taken back in the end."""
        log = self.go_on(barrier)
        yield
        for cells, at, value in reversed(log):
            cells[at] = value
        self._log, self._barrier = None, NO_BARRIER

    def go_on(self, barrier: Barrier) -> Log:
        """Let everything happen that can in spite of a barrier, transfers in any order; gives what it has changed."""
        log: Log = []
        self._log, self._barrier = log, barrier
        self._check_fences_and_stops()
        self._worklist.extend(item.queue for item in self._ready.values())
        self._settle()
        return log

    def _rank(self, number: int) -> tuple[int, int]:
        """Transfers begin in the order of the program, or in that of the history, if they have to keep to one."""
        rank = self.work.transfers[number].place if self._order is None else self._ranks.get(number, NEVER)
        return rank, number

    def _settle(self) -> None:
        """Let happen whatever can."""
        while True:
            while self._worklist:
                self._advance(self._worklist.popleft())
            if self._behind:
                self._flow(self._behind.popleft())
            elif self.delivery.advance():
                self._worklist.extend(range(len(self.work.queues)))
                self._check_fences_and_stops()
            else:
                return

    def _put(self, cells: Cells, at: Any, value: Any) -> None:
        if self._log is not None:
            self._log.append((cells, at, cells[at]))
        cells[at] = value

    def _advance(self, queue: int) -> None:
        items = self.work.queues[queue]
        while self.done[queue] < len(items):
            item = items[self.done[queue]]
            if not self.delivery.delivered(item) or self._barrier.item is item:
                return
            self._reach(item)
            if self.progress[queue] < item.rounds:
                return
            self._finish(queue)

    def _reach(self, item: WorkItem) -> None:
        """As far as its watchers, and the ring or the mesh, let an item go."""
        queue = item.queue
        met, conditions = self.met[queue], item.conditions
        while met < len(conditions) and self.count(conditions[met][1]) >= conditions[met][2]:
            met += 1
        limit = conditions[met][0] if met < len(conditions) else item.rounds
        if met > self.met[queue]:
            self._put(self.met, queue, met)
        if limit > self.limit[queue]:
            self._put(self.limit, queue, limit)
        if item.node is not None:
            reached = self._take(item, item.node, limit)
        elif item.transfer is not None:
            reached = self._send(item, item.transfer, limit)
        else:
            reached = self._exchange(item, limit) if item.needs_partner else limit
        if reached > self.progress[queue]:
            rises = bisect_right(item.rises, reached) - bisect_right(item.rises, self.progress[queue])
            self._put(self.progress, queue, reached)
            if rises and item.raises is not None:
                self._raise(item.raises, rises)

    def _finish(self, queue: int) -> None:
        self._put(self.done, queue, self.done[queue] + 1)
        for cells in (self.progress, self.met, self.limit):
            if cells[queue]:
                self._put(cells, queue, 0)
        tile = self.work.keys[queue][0]
        if tile != CONTROLLER:
            self._check_fences(tile)
        self._check_stops()

    def _raise(self, count: Count, by: int) -> None:
        self._put(self.counts, count, self.counts[count] + by)
        self._worklist.extend(queue for queue in self.work.watchers.get(count, ()) if self._awaits(queue, count))

    def _awaits(self, queue: int, count: Count) -> bool:
        """Whether a queue's item in hand is held by a flag."""
        items, done, met = self.work.queues[queue], self.done[queue], self.met[queue]
        return done < len(items) and met < len(items[done].conditions) and items[done].conditions[met][1] == count

    def _exchange(self, item: WorkItem, limit: int) -> int:
        partner = item.partner
        if partner is None or self.done[partner.queue] < partner.number:
            return 0
        if self.done[partner.queue] > partner.number:
            return item.rounds
        theirs = self.limit[partner.queue]
        if min(limit * partner.rounds // item.rounds, theirs) > self.progress[partner.queue]:
            self._worklist.append(partner.queue)
        return min(limit, theirs * item.rounds // partner.rounds)  # one may count rows, the other words

    # The ring

    def _take(self, item: WorkItem, node: int, limit: int) -> int:
        if item.takes_before + limit > self.room[node]:
            self._put(self.room, node, item.takes_before + limit)
            for transfer in self._heading[node]:
                if self.rows[transfer.number][-1] < self.rows[transfer.number][0]:
                    self._flow(transfer)
        return min(limit, self.taken[node] - item.takes_before)

    def _send(self, item: WorkItem, transfer: Transfer, limit: int) -> int:
        limit = min(limit, self.work.host_rows.get(transfer.number, limit))
        if limit < 1:
            return 0
        if self._log is None and transfer.number not in self._released:
            self._ready[transfer.number] = item
            return 0
        if self._barrier.holds(transfer, 0):
            limit = min(limit, transfer.rows - 1)
        if limit > self.rows[transfer.number][0]:
            self._put(self.rows[transfer.number], 0, limit)
            self._flow(transfer)
        return self.rows[transfer.number][-1] if self.until_taken else limit

    def _may_come(self, transfer: Transfer, hops: int) -> bool:
        """Whether nothing is in a transfer's way any more up to a stop so many hops from its master."""
        return self._order is None or self._is_clear(transfer, self._order, hops)

    def _is_clear(self, transfer: Transfer, order: TransferOrder, hops: int) -> bool:
        clear = before = self._clear[transfer.number]
        while clear <= hops and not self._ahead(transfer, order, clear):
            clear += 1
        if clear > before:
            self._put(self._clear, transfer.number, clear)
        if clear > hops:
            return True
        stop = transfer.path[clear]
        self._put(self._held_at, stop, self._held_at[stop] | order.bit(transfer))
        return False

    def _ahead(self, transfer: Transfer, order: TransferOrder, hops: int) -> int:
        """Those that have yet to pass a stop before a transfer does, as a bitmap."""
        stop = transfer.path[hops]
        return order.before(transfer, stop) & ~self.tails_at[stop]

    def _flow(self, transfer: Transfer) -> None:
        """Let the rows that have left the master go on from destination to destination."""
        rows = self.rows[transfer.number]
        ahead = self.history.ahead.get(transfer.number) or [0] * len(transfer.destinations)
        for stage, node in enumerate(transfer.destinations, 1):
            hops = transfer.hops(node)
            if not self._may_come(transfer, hops) or self._barrier.stops(transfer, hops):
                break
            some = min(rows[stage - 1], self.room[node] - ahead[stage - 1])
            if self._barrier.holds(transfer, hops):
                some = min(some, transfer.rows - 1)
            if some > rows[stage]:
                self._put(self.taken, node, self.taken[node] + some - rows[stage])
                self._put(rows, stage, some)
                if node in self.work.takers:
                    self._worklist.append(self.work.takers[node])
        if self.until_taken:
            self._worklist.append(self.work.senders[transfer.number].queue)
        self._pass_tail(transfer)

    def _pass_tail(self, transfer: Transfer) -> None:
        """Let the last row pass all stops up to where it is."""
        number = transfer.number
        while (hops := self.tails[number]) <= transfer.reach:
            node = transfer.path[hops]
            come = self.rows[number][transfer.stage(hops)]
            if self._barrier.holds(transfer, hops) or come < transfer.rows or not self._may_come(transfer, hops):
                return
            self._put(self.tails, number, hops + 1)
            self._count_tail(transfer, node)

    def _count_tail(self, transfer: Transfer, node: int) -> None:
        tile, channel = node - transfer.first_stop - 1, transfer.channel
        if tile < 0:
            self._raise(self.work.tails_at_source(transfer.place, channel), 1)
        elif tile < self.work.tiles:
            resets = self.history.resets_before
            if self._recording:
                resets[transfer.number, tile] = self._resets[node]
                self._last_tail[node] = transfer
            self._raise((tile, ORDINALS[channel], resets.get((transfer.number, tile), self._resets[node])), 1)
        if self._order is not None:
            self._put(self.tails_at, node, self.tails_at[node] | self._order.bit(transfer))
            if self._held_at[node]:
                self._behind.extend(self._order.listed(self._held_at[node]))
                self._put(self._held_at, node, 0)

    # Fences

    def _check_fences_and_stops(self) -> None:
        for tile in range(self.work.tiles):
            self._check_fences(tile)
        self._check_stops()

    def _check_fences(self, tile: int) -> None:
        before = self.through[tile]
        while (fence := self.next_fence(tile)) is not None and self._drained(fence):
            self._pass_fence(fence)
        if self.through[tile] > before:
            self._worklist.extend(self.work.tile_queues[tile])
            self._send_on(tile)
            self._check_stops()

    def _send_on(self, tile: int) -> None:
        """What a tile starts the broadcast of may go on, now that a fence there is through."""
        if tile in self.work.starters.values():
            self._worklist.extend(range(len(self.work.queues)))
            for other in range(tile + 1, self.work.tiles):
                self._check_fences(other)

    def _drained(self, fence: Fence) -> bool:
        if fence in self._barrier.fences or not self.delivery.reached(fence):
            return False
        return all(self.done[queue] >= count for queue, count in fence.drained)

    def _pass_fence(self, fence: Fence) -> None:
        tile = fence.tile
        for channel in channels_of(self.work.program.topology):
            if ORDINALS[channel] in fence.op.reset:
                self._reset(fence, first_stop(channel, self.work.tiles) + tile + 1)
        self._put(self.through, tile, self.through[tile] + 1)
        self._put(self.controller, "increments", self.controller["increments"] + fence.op.increment)

    def _reset(self, fence: Fence, stop: int) -> None:
        """A stop's count of transfers begins anew."""
        last = self._last_tail[stop]
        if self._recording and last is not None:
            self.history.last_before_reset.append((fence, self.through[fence.tile], last))
        self._put(self._resets, stop, self._resets[stop] + 1)

    def _check_stops(self) -> None:
        number = self.controller["stop"]
        if number < len(self.work.stops) and self._may_pass(self.work.stops[number]):
            self._put(self.controller, "stop", number + 1)
            self._worklist.extend(range(len(self.work.queues)))
            self._check_fences_and_stops()

    def _may_pass(self, stop: Stop) -> bool:
        if stop.fences is not None:
            drained = all(self.done[queue] >= count for queue, count in stop.drained)
            return drained and self.controller["increments"] >= stop.fences
        return (
            all(item.place >= stop.place for item in self.unfinished())
            and all(self.fence_place(tile) >= stop.place for tile in range(self.work.tiles))
            and all(self.rows[sent.number][-1] == sent.rows for sent in self.work.transfers if sent.place < stop.place)
        )
