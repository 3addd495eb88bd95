"""A section without time: what order its instructions can begin in, and whether they all can.

The sequencer issues in order and stands still before a full queue; a unit has one instruction in hand besides. A sync
in hand waits for instructions of another unit, a matrix multiplication that switches for its tile, a fetch of weights
for places in the weight FIFO. Everything else goes on at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilesim.systolic.isa.model.instructions import Halt, Instruction, MatrixMultiply, Queue, ReadWeights, Sync
from tilesim.systolic.topology import Topology

UNITS = tuple(Queue)
Clock = tuple[int, ...]
"""For each unit how many of its instructions are known to have retired."""


@dataclass(frozen=True)
class Begun:
    """The instruction at ``place`` of the section is number ``count``, from 1, of its unit, and ``known`` has retired
    when it begins.
    """

    place: int
    unit: int
    count: int
    known: Clock


@dataclass
class UntimedExecution:
    """``begun``: in an order in which they can begin; ``stuck``: the places of those in hand that never can."""

    section: Sequence[Instruction]
    topology: Topology
    begun: list[Begun] = field(default_factory=list)
    stuck: dict[Queue, int] = field(default_factory=dict)
    issued: int = 0
    fetched: int = 0
    switched: int = 0

    def __post_init__(self) -> None:
        self._places = {unit.value: place for place, unit in enumerate(UNITS)}
        self._queues: list[deque[int]] = [deque() for _ in UNITS]
        self._known: list[Clock] = [(0,) * len(UNITS) for _ in UNITS]
        self._history: list[list[Clock]] = [[] for _ in UNITS]
        while self._issue() | any(self._go_on(unit) for unit in range(len(UNITS))):
            pass
        self.stuck = {unit: queue[0] for unit, queue in zip(UNITS, self._queues, strict=True) if queue}

    def retired(self, unit: Queue) -> int:
        return len(self._history[self._places[unit]])

    def _issue(self) -> bool:
        """Fill the queues as far as there is room, and say whether anything was issued."""
        before, depth = self.issued, self.topology.sequencer.queue_depth + 1
        while self.issued < len(self.section):
            op = self.section[self.issued]
            if isinstance(op, Halt):
                break
            if op.queue is not None:
                queue = self._queues[self._places[op.queue]]
                if len(queue) >= depth:
                    break
                queue.append(self.issued)
            self.issued += 1
        return self.issued > before

    def _go_on(self, unit: int) -> bool:
        """Carry out what a unit has, up to what cannot begin, and say whether anything was."""
        queue, history = self._queues[unit], self._history[unit]
        before = len(history)
        while queue and self._can(self.section[queue[0]]):
            place = queue.popleft()
            op = self.section[place]
            self._learn(unit, op)
            history.append(self._known[unit])
            self.begun.append(Begun(place, unit, len(history), self._known[unit]))
        return len(history) > before

    def _can(self, op: Instruction) -> bool:
        """Whether an instruction in hand can be carried out, so that the unit takes the next one."""
        if isinstance(op, Sync):
            return self.retired(op.until) >= op.count
        if isinstance(op, ReadWeights):
            # What has been switched in has left the FIFO, and one tile more waits in the path.
            return self.fetched + op.tiles <= self._room
        return not (isinstance(op, MatrixMultiply) and op.switch) or self.switched < self._there

    @property
    def _room(self) -> int:
        return self.topology.weight_fifo.tiles + self.switched + 1

    @property
    def _there(self) -> int:
        """Tiles that can be there by now, with those of the fetch in hand."""
        queue = self._queues[self._places[Queue.WEIGHTS]]
        head = self.section[queue[0]] if queue else None
        return min(self.fetched + (head.tiles if isinstance(head, ReadWeights) else 0), self._room)

    def _learn(self, unit: int, op: Instruction) -> None:
        if isinstance(op, ReadWeights):
            self.fetched += op.tiles
        if isinstance(op, MatrixMultiply):
            self.switched += op.switch
        if isinstance(op, Sync) and op.count:
            other = self._places[op.until]
            news = list(map(max, self._known[unit], self._history[other][op.count - 1]))
            news[other] = max(news[other], op.count)
            self._known[unit] = tuple(news)
