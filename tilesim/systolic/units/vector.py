"""The vector unit: activation, normalisation, pooling."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY
from tilesim.systolic.isa.model.instructions import VectorInstruction
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.data import Data
from tilesim.systolic.units.issue_queue import IssueQueue
from tilesim.systolic.units.vector_costs import actions, cycles


class VectorUnit:
    """Takes sums from the accumulators, or operands from the unified buffer, and writes results to the buffer.

    Timing: an instruction that begins at t has taken its operands at t + :func:`~.vector_costs.cycles`, where the next
    may begin; its results are written, and it retires, ``pipeline_cycles`` after that. Source: WO 2016/186801, Fig. 5,
    for what it does; rates and depth are assumptions.
    """

    def __init__(self, clock: Clock, topology: Topology, issue_queue: IssueQueue[Any], data: Data) -> None:
        self._clock = clock
        self._topology = topology
        self._issue_queue = issue_queue
        self._data = data

    def work(self) -> Generator[simpy.Event, Any, None]:
        unit = self._issue_queue.unit
        while True:
            op: VectorInstruction = yield from self._issue_queue.next()
            yield from self._issue_queue.begin(op)
            write = self._data.compute(op)
            yield self._clock.timeout(cycles(op, self._topology))
            unit.spend(BUSY)
            unit.act(actions(op))
            self._issue_queue.retire(op, self._clock.cycle + self._topology.vector_unit.pipeline_cycles, write)
