"""The chip without time: whatever can happen does, until nothing more can.

More never hinders: an instruction that may go on may still do so when others have gone on as well. So if something
can't happen while one thing is kept from happening, the one comes before the other, whatever the delays.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable

from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.rules.ring.transfers import SOURCE, Transfer
from tilesim.tiled.rules.untimed.situation import Barrier, History, Situation, stage_of
from tilesim.tiled.rules.untimed.work_queues import CONTROLLER, Count, Fence, Task, WorkQueues


class Play(Situation):
    """A play of a program's duties.

    On its own it lets transfers begin one after the other, each when nothing else can happen, in the order of the
    program. With the ``history`` of such a play it assumes what that found out: which rows come first at a stop, and
    what a reset comes after.
    """

    def __init__(self, duties: WorkQueues, history: History | None = None) -> None:
        super().__init__(duties, history)
        self._work = deque(range(len(duties.queues)))

    def run(self, before: Callable[[Task], None] = lambda _: None) -> None:
        """Let transfers begin one by one until none can any more; ``before`` hears of each."""
        self._check_all_fences()
        self._check_stops()
        self.settle()
        while self.ready:
            number = min(self.ready, key=self._rank)
            before(self.ready[number])
            self.release(self.ready.pop(number))
            self.settle()

    def release(self, task: Task) -> None:
        """Let a transfer begin."""
        assert task.transfer is not None
        self.released.add(task.transfer.number)
        if not self.known:
            self._note_rows_ahead(task.transfer)
            self.history.order.append(task.transfer)
        self._work.append(task.queue)

    def settle(self) -> None:
        """Let happen whatever can."""
        while self._work:
            self._advance(self._work.popleft())

    def without(self, barrier: Barrier) -> None:
        """Let everything happen that can in spite of a barrier; :meth:`rewind` takes it back."""
        self._log, self.barrier = [], barrier
        self._check_all_fences()
        self._check_stops()
        self._work.extend(task.queue for task in self.ready.values())
        self.settle()

    def _rank(self, number: int) -> tuple[int, int]:
        transfer = self.duties.transfers[number]
        return transfer.place, number

    def _advance(self, queue: int) -> None:
        tasks = self.duties.queues[queue]
        while self.done[queue] < len(tasks):
            task = tasks[self.done[queue]]
            if not self.delivered(task) or (self.barrier is not None and self.barrier.task is task):
                return
            self._reach(task)
            if self.progress[queue] < task.rounds:
                return
            self._finish(queue)

    def _reach(self, task: Task) -> None:
        """As far as its watchers, and the ring or the mesh, let a task go."""
        queue = task.queue
        held, holds = self.held[queue], task.holds
        while held < len(holds) and self.count(holds[held][1]) >= holds[held][2]:
            held += 1
        limit = holds[held][0] if held < len(holds) else task.rounds
        if held > self.held[queue]:
            self._put(self.held, queue, held)
        if limit > self.limit[queue]:
            self._put(self.limit, queue, limit)
        reached = self._through_buses(task, limit)
        if reached > self.progress[queue]:
            rises = bisect_right(task.rises, reached) - bisect_right(task.rises, self.progress[queue])
            self._put(self.progress, queue, reached)
            if rises and task.raises is not None:
                self._raise(task.raises, rises)

    def _through_buses(self, task: Task, limit: int) -> int:
        if task.node is not None:
            return self._take(task, task.node, limit)
        if task.transfer is not None:
            return self._send(task, task.transfer, limit)
        if task.needs_partner:
            return self._exchange(task, limit)
        return limit

    def _finish(self, queue: int) -> None:
        self._put(self.done, queue, self.done[queue] + 1)
        for cells in (self.progress, self.held, self.limit):
            if cells[queue]:
                self._put(cells, queue, 0)
        tile = self.duties.keys[queue][0]
        if tile != CONTROLLER:
            self._check_fences(tile)
        self._check_stops()

    def _raise(self, count: Count, by: int) -> None:
        if count not in self.counts:
            self.counts[count] = 0
        self._put(self.counts, count, self.counts[count] + by)
        self._work.extend(queue for queue in self.duties.watchers(count[0]) if self._awaits(queue, count))

    def _awaits(self, queue: int, count: Count) -> bool:
        """Whether a queue's task in hand is held by a flag."""
        tasks, done, held = self.duties.queues[queue], self.done[queue], self.held[queue]
        return done < len(tasks) and held < len(tasks[done].holds) and tasks[done].holds[held][1] == count

    def _exchange(self, task: Task, limit: int) -> int:
        partner = task.partner
        if partner is None or self.done[partner.queue] < partner.number:
            return 0
        if self.done[partner.queue] > partner.number:
            return task.rounds
        theirs = self.limit[partner.queue]
        if min(limit * partner.rounds // task.rounds, theirs) > self.progress[partner.queue]:
            self._work.append(partner.queue)
        return min(limit, theirs * task.rounds // partner.rounds)  # one may count rows, the other words

    # The ring

    def _take(self, task: Task, node: int, limit: int) -> int:
        if task.takes_before + limit > self.room[node]:
            self._put(self.room, node, task.takes_before + limit)
            for transfer in self._heading[node]:
                if self.rows[transfer.number][-1] < self.rows[transfer.number][0]:
                    self._flow(transfer)
        return min(limit, self.taken[node] - task.takes_before)

    def _send(self, task: Task, transfer: Transfer, limit: int) -> int:
        limit = min(limit, self._host_rows.get(transfer.number, limit))
        if limit < 1:
            return 0
        if self._log is None and transfer.number not in self.released:
            self.ready[transfer.number] = task
            return 0
        if self.barrier is not None and self.barrier.holds(transfer, 0):
            limit = min(limit, transfer.rows - 1)
        if limit > self.rows[transfer.number][0]:
            self._put(self.rows[transfer.number], 0, limit)
            self._flow(transfer)
        return limit

    def _flow(self, transfer: Transfer) -> None:
        """Let the rows that have left the master go on from destination to destination."""
        rows, ahead = self.rows[transfer.number], self._ahead(transfer)
        for stage, node in enumerate(transfer.destinations, 1):
            if not self._clear(transfer, node) or (
                self.barrier is not None and self.barrier.stops(transfer, transfer.hops(node))
            ):
                break
            some = min(rows[stage - 1], self.room[node] - ahead[stage - 1])
            if self.barrier is not None and self.barrier.holds(transfer, transfer.hops(node)):
                some = min(some, transfer.rows - 1)
            if some > rows[stage]:
                self._put(self.taken, node, self.taken[node] + some - rows[stage])
                self._put(rows, stage, some)
                if node in self.duties.takers:
                    self._work.append(self.duties.takers[node])
        self._pass_tail(transfer)

    def _clear(self, _transfer: Transfer, _node: int) -> bool:
        """Whether nothing stands in the way of a transfer up to a node on its way; here nothing ever does."""
        return True

    def _pass_tail(self, transfer: Transfer) -> None:
        """Let the last row pass all stops up to where it is."""
        number = transfer.number
        while (hops := self.tails[number]) <= transfer.reach:
            node = (transfer.master + hops) % transfer.nodes
            held = self.barrier is not None and self.barrier.holds(transfer, hops)
            if held or self.rows[number][stage_of(transfer, hops)] < transfer.rows or not self._clear(transfer, node):
                return
            self._put(self.tails, number, hops + 1)
            self._count_tail(transfer, node)

    def _count_tail(self, transfer: Transfer, node: int) -> None:
        tile = node - 1
        if node == SOURCE:
            self._raise(self.duties.tails_at_source(transfer.place), 1)
        elif tile < self.duties.tiles:
            resets = self.history.resets_before
            if not self.known:
                resets[transfer.number, tile] = self._resets[tile]
                self._last_tail[tile] = transfer
            self._raise((tile, Flag.RING_PRODUCER_A, resets.get((transfer.number, tile), self._resets[tile])), 1)

    def _note_rows_ahead(self, transfer: Transfer) -> None:
        self.history.ahead[transfer.number] = [
            sum(other.rows for other in self.history.order if node in other.destinations)
            for node in transfer.destinations
        ]

    # Fences

    def _check_all_fences(self) -> None:
        for tile in range(self.duties.tiles):
            self._check_fences(tile)

    def _check_fences(self, tile: int) -> None:
        fences = self.duties.fences[tile]
        passed = False
        while self.through[tile] < len(fences) and self._drained(fences[self.through[tile]]):
            self._pass_fence(fences[self.through[tile]])
            passed = True
        if passed:
            self._work.extend(self.duties.tile_queues[tile])
            self._check_stops()

    def _drained(self, fence: Fence) -> bool:
        if self.barrier is not None and self.barrier.fence is fence:
            return False
        return fence.place < self.issued() and all(self.done[queue] >= count for queue, count in fence.drained)

    def _pass_fence(self, fence: Fence) -> None:
        tile = fence.tile
        if Flag.RING_PRODUCER_A in fence.op.reset:
            last = self._last_tail[tile]
            if not self.known and last is not None:
                self.history.last_before_reset.append((fence, self.through[tile], last))
            self._put(self._resets, tile, self._resets[tile] + 1)
        self._put(self.through, tile, self.through[tile] + 1)
        self._put(self.controller, "increments", self.controller["increments"] + fence.op.increment)

    def _check_stops(self) -> None:
        stop = self.controller["stop"]
        if stop < len(self.duties.stops) and self._may_pass(stop):
            self._put(self.controller, "stop", stop + 1)
            self._work.extend(range(len(self.duties.queues)))
            self._check_all_fences()
            self._check_stops()

    def _may_pass(self, stop: int) -> bool:
        needed, drained = self.duties.stops[stop].fences, self.duties.stops[stop].drained
        if needed is not None:
            return self.controller["increments"] >= needed and all(self.done[queue] >= n for queue, n in drained)
        place = self.duties.stops[stop].place
        return (
            all(task.place >= place for task in self.unfinished())
            and all(self._fence_place(tile) >= place for tile in range(self.duties.tiles))
            and all(self.over(each) for each in self.duties.transfers if each.place < place)
        )
