"""The order of issue against the depth of the instruction buffers: a full one stalls the bus, and all behind it.

The order in which transfers go is proven before; so what can happen doesn't depend on delays, and one play tells.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from tilesim.tiled.isa.model.instructions import Infeed, Outfeed, ScalarFence, header_of
from tilesim.tiled.rules.ring.transfer_order import TransferOrder
from tilesim.tiled.rules.untimed.deadlock import impasse
from tilesim.tiled.rules.untimed.ordered_play import OrderedPlay
from tilesim.tiled.rules.untimed.situation import NEVER, History
from tilesim.tiled.rules.untimed.work_queues import CONTROLLER, Fence, Task, WorkQueues


def buffer_faults(duties: WorkQueues, history: History, precedence: TransferOrder) -> Iterator[str]:
    """Why a program that would come to its end with endless buffers doesn't with those of the chip."""
    play = BufferedPlay(duties, history, precedence)
    play.run()
    if not any(True for _ in play.unfinished()):
        return
    depth = duties.program.topology.instruction_bus.buffer_depth
    for queue, op in play.full():
        task = play.in_hand(queue)
        name, _ = duties.instructions[op]
        yield (
            f"{name} ({duties.instructions[op][1].mnemonic}) can't be issued: the buffer of {depth} instructions is "
            f"full in which {task} stands first"
        )
    yield from impasse(play)


class BufferedPlay(OrderedPlay):
    """A play in which instructions come over the bus, stop by stop, each into a place in its engine's buffer."""

    def __init__(self, duties: WorkQueues, history: History, precedence: TransferOrder) -> None:
        topology = duties.program.topology
        self._depth, self._inbox = topology.instruction_bus.buffer_depth, topology.instruction_bus.hop_cycles + 2
        headers = [header_of(op, duties.tiles) for _, op in duties.instructions]
        self._route = [[k for k, header in enumerate(headers) if header >> stop] for stop in range(duties.tiles + 1)]
        self._headers = headers
        self._passed = [0] * (duties.tiles + 1)
        """How many of its route each stop has passed on."""
        self._next = 0
        """The place of the instruction that the controller issues next."""
        self._places = [sorted({task.place for task in queue}) for queue in duties.queues]
        self._queues_at: dict[tuple[int, int], list[int]] = defaultdict(list)
        for queue in duties.queues:
            for task in queue:
                here = self._queues_at[duties.keys[task.queue][0], task.place]
                here += [task.queue] if task.queue not in here else []
        self._ranks = {transfer.number: rank for rank, transfer in enumerate(history.order)}
        super().__init__(duties, history, precedence)

    def settle(self) -> None:
        super().settle()
        while self._issue():
            super().settle()

    def delivered(self, task: Task) -> bool:
        if isinstance(task.op, Infeed | Outfeed):
            return task.place < self._next
        return task.place < self._copied(self._stop_of(task.tile))

    def bus_waits_for(self) -> Task | None:
        return next((self.in_hand(queue) for queue, _ in self.full()), None)

    def full(self) -> Iterator[tuple[int, int]]:
        """The full buffers that stall the bus, by queue, and the place of the instruction that finds no room."""
        for stop, route in enumerate(self._route):
            if self._passed[stop] < len(route) and route[self._passed[stop]] < self._limit(stop):
                place = route[self._passed[stop]]
                yield from ((queue, place) for queue in self._without_room(stop, place))
        if self._next < len(self.duties.instructions) and not self._headers[self._next]:
            yield from ((queue, self._next) for queue in self._without_room(self.duties.tiles, self._next))

    def _rank(self, number: int) -> tuple[int, int]:
        return self._ranks.get(number, NEVER), number

    def _drained(self, fence: Fence) -> bool:
        return fence.place < self._copied(fence.tile) and all(
            self.done[queue] >= count for queue, count in fence.drained
        )

    # The bus

    def _stop_of(self, tile: int) -> int:
        return self.duties.tiles if tile == CONTROLLER else tile

    def _copied(self, stop: int) -> int:
        """What stands before this place has been copied at a stop."""
        route, passed = self._route[stop], self._passed[stop]
        return route[passed - 1] + 1 if passed else 0

    def _limit(self, stop: int) -> int:
        """What stands before this place has come to a stop."""
        return self._next if stop == 0 else self._copied(stop - 1)

    def _issue(self) -> bool:
        """Move instructions on as far as they go; whether any did."""
        moved = False
        while self._step_controller() + sum(self._step(stop) for stop in range(len(self._route))):
            moved = True
        if moved:
            self._work.extend(range(len(self.duties.queues)))
            self._check_all_fences()
        return moved

    def _step_controller(self) -> bool:
        start = self._next
        while self._next < min(len(self.duties.instructions), self.issued()) and self._may_issue(self._next):
            self._next += 1
        return self._next > start

    def _may_issue(self, place: int) -> bool:
        op = self.duties.instructions[place][1]
        if isinstance(op, ScalarFence):
            return True
        if isinstance(op, Infeed | Outfeed):
            return not self._without_room(self.duties.tiles, place)
        return self._waiting(0, place) < self._inbox

    def _waiting(self, stop: int, before: int) -> int:
        """Instructions before a place that have yet to pass a stop."""
        return bisect_left(self._route[stop], before) - self._passed[stop]

    def _step(self, stop: int) -> bool:
        route, start = self._route[stop], self._passed[stop]
        while self._passed[stop] < len(route):
            place = route[self._passed[stop]]
            if place >= self._limit(stop) or not self._admits(stop, place) or not self._forwards(stop, place):
                break
            self._passed[stop] += 1
        return self._passed[stop] > start

    def _admits(self, stop: int, place: int) -> bool:
        if not self._headers[place] >> stop & 1:
            return True
        if stop < self.duties.tiles and self._fence_place(stop) < place:
            return False
        return not self._without_room(stop, place)

    def _forwards(self, stop: int, place: int) -> bool:
        return not self._headers[place] >> stop + 1 or self._waiting(stop + 1, place) < self._inbox

    def _without_room(self, stop: int, place: int) -> list[int]:
        """The queues at a stop, or of the controller, into which an instruction belongs that are full."""
        key = CONTROLLER if stop == self.duties.tiles else stop, place
        return [queue for queue in self._queues_at.get(key, ()) if not self._has_room(queue, place)]

    def _has_room(self, queue: int, place: int) -> bool:
        """Whether the buffer has a place: beside those in it, one instruction is in the engine's hand."""
        places, task = self._places[queue], self.in_hand(queue)
        done = len(places) if task is None else bisect_left(places, task.place)
        return bisect_left(places, place) <= done + self._depth
