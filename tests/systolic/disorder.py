"""The units of a chip side by side, whoever goes next being left to chance: what syncs, FIFO and queues leave open may
happen in any order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tests.systolic.interpreter import Interpreter
from tilesim.systolic.isa.model.instructions import Instruction, MatrixMultiply, Queue, ReadWeights, Sync

Flying = tuple[Instruction, Callable[[], None]]


@dataclass
class Unit:
    """A queue, and what has begun and not retired."""

    waiting: deque[Instruction] = field(default_factory=deque)
    flying: deque[Flying] = field(default_factory=deque)
    retired: int = 0
    fetched: int = 0


class Disorder(Interpreter):
    """Runs the load section in order and the run section in some order that ``rng`` draws; not ``ordered``, without
    heed of syncs.
    """

    ordered = True

    def disordered(self, rng: np.random.Generator) -> None:
        for op in self.program.load:
            self.begin(op)()
            self.retired(op)
        self.units = {queue: Unit() for queue in Queue}
        self.stream = deque(op for op in self.program.run if op.queue is not None)
        while moves := list(self._moves()):
            moves[rng.integers(len(moves))]()
        stuck = {queue: unit.waiting[0] for queue, unit in self.units.items() if unit.waiting}
        assert not self.stream, f"the sequencer is stuck: {stuck}"
        assert not stuck
        assert not self.fifo

    def _moves(self) -> Iterator[Callable[[], None]]:
        """All that could happen next."""
        depth = self.program.topology.sequencer.queue_depth
        if self.stream and (queue := self.stream[0].queue) and len(self.units[queue].waiting) < depth:
            yield self._dispatch
        for unit in self.units.values():
            if unit.flying:
                yield lambda unit=unit: self._retire(unit)  # type: ignore[misc]
            if unit.waiting and self._ready(unit.waiting[0]):
                yield lambda unit=unit: self._start(unit)  # type: ignore[misc]

    def _ready(self, op: Instruction) -> bool:
        match op:
            case Sync():
                return not self.ordered or self.units[op.until].retired >= op.count
            case ReadWeights():  # those in the FIFO, and one in the path
                return len(self.fifo) <= self.program.topology.weight_fifo.tiles
            case MatrixMultiply():
                return not op.switch or bool(self.fifo)
        return True

    def _dispatch(self) -> None:
        op = self.stream.popleft()
        assert op.queue is not None
        self.units[op.queue].waiting.append(op)

    def _start(self, unit: Unit) -> None:
        op = unit.waiting[0]
        if isinstance(op, ReadWeights):
            self.fifo.append(self.fetch(op, unit.fetched))
            unit.fetched += 1
            if unit.fetched < op.tiles:
                return
            unit.fetched = 0
            unit.flying.append((op, lambda: None))
        else:
            unit.flying.append((op, self.begin(op)))
        unit.waiting.popleft()

    def _retire(self, unit: Unit) -> None:
        op, commit = unit.flying.popleft()
        commit()
        unit.retired += 1
        self.retired(op)
