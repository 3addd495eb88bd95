"""The whole chip: host interface, sequencer, memories and units, wired together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from simpy.core import StopSimulation

from tilesim.machines.holds import NO_HOLDS, Holds
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.logged import LoggedUnit
from tilesim.sim.core.unit import BUSY, Unit
from tilesim.sim.trace.recorder import Recorder, listener
from tilesim.sim.trace.state_log import StateLog
from tilesim.systolic.isa.model.instructions import Instruction, Queue
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.data import Data
from tilesim.systolic.units.dma import DmaEngine
from tilesim.systolic.units.issue_queue import IssueQueue
from tilesim.systolic.units.matrix import MatrixUnit
from tilesim.systolic.units.retirement import Retirement
from tilesim.systolic.units.sequencer import Sequencer, Work
from tilesim.systolic.units.vector import VectorUnit
from tilesim.systolic.units.weight_fetcher import WeightFetcher
from tilesim.systolic.units.weight_path import WeightFifo, WeightPath

U = TypeVar("U", bound=Unit)


class Chip:
    """A chip at rest in cycle 0. ``on_retired(label)`` hears of every instruction that has retired, ``log`` of all
    spans, whoever records the trace; ``instants``: transfers, by label, that take no time.
    """

    def __init__(
        self,
        topology: Topology,
        data: Data,
        recorder: Recorder | None = None,
        on_retired: Callable[[str], None] = lambda _label: None,
        log: StateLog | None = None,
        instants: frozenset[str] = frozenset(),
    ) -> None:
        self.instants = instants
        self.topology = topology
        self.clock = Clock()
        self.recorder = recorder
        self.log = log
        self.data = data
        self.section = ("load", 0)
        self.retirement = Retirement(self.clock, on_retired)
        self.infeed, self.outfeed = self._unit("host.infeed", Unit), self._unit("host.outfeed", Unit)
        self.instructions, self.weight_memory = self._unit("host.instructions", Unit), self._unit("weight_memory", Unit)
        self.links = [self.infeed, self.outfeed, self.instructions, self.weight_memory]
        sequencer, self.matrix = self._unit("sequencer", LoggedUnit), self._unit("matrix", LoggedUnit)
        path = self._unit("weight_path", Unit)
        of_queues = {queue: self.matrix if queue is Queue.MATRIX else self._unit(queue, Unit) for queue in Queue}
        self.issue_queues: dict[Queue, IssueQueue[Any]] = {
            queue: IssueQueue(self.clock, queue, unit, topology.sequencer.queue_depth, self.retirement)
            for queue, unit in of_queues.items()
        }
        self.units = [sequencer, *(of_queues[queue] for queue in Queue), path]

        self.weight_fifo = WeightFifo(self.clock, topology.weight_fifo.tiles)
        self.path = WeightPath(self.clock, path, topology, self.weight_fifo)
        for work in self._works(self.weight_fifo):
            self.clock.process(work)
        buffers = {queue: issue_queue.buffer for queue, issue_queue in self.issue_queues.items()}
        self.sequencer = Sequencer(self.clock, sequencer, self.instructions, topology, buffers, self.retirement)

    def run(self, section: str, instructions: Sequence[Instruction], holds: Holds = NO_HOLDS) -> range:
        """Run a section up to its halt, or until nothing can happen any more: its cycles.

        ``holds`` says before which cycle of the section an instruction must not begin.
        """
        start = self.clock.cycle
        self.section = section, start
        self.retirement.restart()
        for unit in (*self.units, *self.links):
            unit.restart()
            unit.holds = {label: start + cycle for (label, _), cycle in holds.items()}
        halted = self.clock.event()
        halted.callbacks.append(StopSimulation.callback)
        self.clock.process(self.sequencer.run(instructions, halted))
        self.clock.run()
        return range(start, self.clock.cycle)

    def close(self, end: int) -> None:
        """Book the rest of a run that ends at ``end``; a tile may still be on its way into the array."""
        if self.path.shifting:
            self.path.unit.spend(BUSY, end)
        for unit in (*self.units, *self.links):
            unit.close(end)

    def stop(self, labels: Iterable[str]) -> int:
        """Account for a section that can't go on, with the cycle in which it stands, or up to a later one if a unit's
        work is known ahead: what a unit waits for lasts until then, and so do the instructions among ``labels`` that
        have not retired.

        Returns:
            The cycle after the last.
        """
        end = max(self.clock.cycle + 1, *(unit.accounted_until for unit in (*self.units, *self.links)))
        for label in labels:
            for known in (self.retirement.begun, self.retirement.retired):
                known.setdefault(label, end)
        for unit in (*self.units, *self.links):
            unit.stop(end, unit in self.units)
        return end

    def _works(self, fifo: WeightFifo) -> Iterator[Work]:
        clock, topology, issue_queues, data = self.clock, self.topology, self.issue_queues, self.data
        yield DmaEngine(clock, self.infeed, topology, issue_queues[Queue.DMA_IN], data).work()
        yield DmaEngine(clock, self.outfeed, topology, issue_queues[Queue.DMA_OUT], data).work()
        yield WeightFetcher(clock, self.weight_memory, topology, issue_queues[Queue.WEIGHTS], fifo, data).work()
        yield self.path.work()
        yield MatrixUnit(clock, topology, issue_queues[Queue.MATRIX], self.path, data).work()
        yield VectorUnit(clock, topology, issue_queues[Queue.VECTOR], data).work()

    def _unit(self, name: str, kind: type[U]) -> U:
        track = f"chip.{name}"
        unit = kind(self.clock, track, listener(track, self.recorder, None if self.log is None else self.log.spans))
        unit.instants = self.instants
        return unit
