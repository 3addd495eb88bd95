"""The order of issue against the depth of the instruction buffers: a full one stalls the bus, and all behind it. And
rows that nobody takes until their master is through: they would stand on the ring, whose room is not counted on.

The order in which transfers go is proven before; so what can happen doesn't depend on delays, and one execution tells.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from tilesim.tiled.isa.model.instructions import Infeed, Outfeed, ScalarFence, header_of
from tilesim.tiled.rules.untimed.deadlock import deadlocks
from tilesim.tiled.rules.untimed.execution import InstructionDelivery, UntimedExecution
from tilesim.tiled.rules.untimed.transfer_order import History, TransferOrder
from tilesim.tiled.rules.untimed.work_queues import CONTROLLER, Fence, WorkItem, WorkQueues


def buffer_faults(work: WorkQueues, history: History, order: TransferOrder) -> Iterator[str]:
    """Why a program that would come to its end with endless buffers, and room for all rows on the ring, may not do so
    with those of the chip.
    """
    execution = UntimedExecution(work, history, order, ThroughBuffers, until_taken=True)
    execution.run()
    if not any(True for _ in execution.unfinished()):
        return
    assert isinstance(execution.delivery, ThroughBuffers)
    depth = work.program.topology.instruction_bus.buffer_depth
    for queue, place in execution.delivery.full():
        item = execution.in_hand(queue)
        name, op = work.instructions[place]
        yield (
            f"{name} ({op.mnemonic}) can't be issued: the buffer of {depth} instructions is full in which {item} "
            f"stands first"
        )
    yield from deadlocks(execution)


class ThroughBuffers(InstructionDelivery):
    """Instructions come over the bus, stop by stop, each into a place in its engine's buffer."""

    def __init__(self, execution: UntimedExecution) -> None:
        super().__init__(execution)
        self._work = work = execution.work
        bus = work.program.topology.instruction_bus
        self._depth, self._inbox = bus.buffer_depth, bus.hop_cycles + 2
        self._headers = [header_of(op, work.tiles) for _, op in work.instructions]
        self._route = [[k for k, header in enumerate(self._headers) if header >> s] for s in range(work.tiles + 1)]
        self._passed = [0] * (work.tiles + 1)
        """How many of its route each stop has passed on."""
        self._next = 0
        """The place of the instruction that the controller issues next."""
        self._places = [sorted({item.place for item in queue}) for queue in work.queues]
        self._queues_at: dict[tuple[int, int], list[int]] = defaultdict(list)
        for queue in work.queues:
            for item in queue:
                here = self._queues_at[work.keys[item.queue][0], item.place]
                here += [item.queue] if item.queue not in here else []

    def delivered(self, item: WorkItem) -> bool:
        if isinstance(item.op, Infeed | Outfeed):
            return item.place < self._next
        return item.place < self._copied(self._work.tiles if item.tile == CONTROLLER else item.tile)

    def reached(self, fence: Fence) -> bool:
        return fence.place < self._copied(fence.tile)

    def advance(self) -> bool:
        moved = False
        while self._step_controller() + sum(self._step(stop) for stop in range(len(self._route))):
            moved = True
        return moved

    def holder(self) -> WorkItem | None:
        return next((self.execution.in_hand(queue) for queue, _ in self.full()), None)

    def full(self) -> Iterator[tuple[int, int]]:
        """The full buffers that stall the bus, by queue, and the place of the instruction that finds no room."""
        for stop, route in enumerate(self._route):
            if self._passed[stop] < len(route) and route[self._passed[stop]] < self._limit(stop):
                place = route[self._passed[stop]]
                yield from ((queue, place) for queue in self._without_room(stop, place))
        if self._next < len(self._headers) and not self._headers[self._next]:
            yield from ((queue, self._next) for queue in self._without_room(self._work.tiles, self._next))

    def _copied(self, stop: int) -> int:
        """What stands before this place has been copied at a stop."""
        route, passed = self._route[stop], self._passed[stop]
        return route[passed - 1] + 1 if passed else 0

    def _limit(self, stop: int) -> int:
        """What stands before this place has come to a stop."""
        return self._next if stop == 0 else self._copied(stop - 1)

    def _step_controller(self) -> bool:
        start = self._next
        while self._next < min(len(self._headers), self.execution.issued()) and self._may_issue(self._next):
            self._next += 1
        return self._next > start

    def _may_issue(self, place: int) -> bool:
        op = self._work.instructions[place][1]
        if isinstance(op, ScalarFence):
            return True
        if isinstance(op, Infeed | Outfeed):
            return not self._without_room(self._work.tiles, place)
        return self._waiting(0, place) < self._inbox

    def _waiting(self, stop: int, before: int) -> int:
        """Instructions before a place that have yet to pass a stop."""
        return bisect_left(self._route[stop], before) - self._passed[stop]

    def _step(self, stop: int) -> bool:
        route, start = self._route[stop], self._passed[stop]
        while self._passed[stop] < len(route):
            place = route[self._passed[stop]]
            if place >= self._limit(stop) or not self._may_pass(stop, place):
                break
            self._passed[stop] += 1
        return self._passed[stop] > start

    def _may_pass(self, stop: int, place: int) -> bool:
        """Whether there is room for an instruction: at the next stop, if it goes on, and here, if it is for here."""
        if self._headers[place] >> stop + 1 and self._waiting(stop + 1, place) >= self._inbox:
            return False
        starts = self._work.starters.get(place) == stop
        if not self._headers[place] >> stop & 1 and not starts:
            return True
        fenced = stop < self._work.tiles and self.execution.fence_place(stop) < place
        return not fenced and not self._without_room(stop, place)

    def _without_room(self, stop: int, place: int) -> list[int]:
        """The queues at a stop, or of the controller, into which an instruction belongs that are full."""
        key = CONTROLLER if stop == self._work.tiles else stop, place
        return [queue for queue in self._queues_at.get(key, ()) if not self._has_room(queue, place)]

    def _has_room(self, queue: int, place: int) -> bool:
        """Whether the buffer has a place: beside those in it, one instruction is in the engine's hand."""
        places, item = self._places[queue], self.execution.in_hand(queue)
        done = len(places) if item is None else bisect_left(places, item.place)
        return bisect_left(places, place) <= done + self._depth
