"""The matrix unit: the array of cells, with what feeds it and what takes its sums."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from tilesim.sim.core.action import Action, Actions
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY, Reason
from tilesim.sim.trace.recorder import Waker
from tilesim.systolic.isa.model.instructions import MatrixMultiply
from tilesim.systolic.topology import SUM_BYTES, Array, Topology
from tilesim.systolic.units.data import Data
from tilesim.systolic.units.issue_queue import IssueQueue
from tilesim.systolic.units.weight_path import WeightPath

MACS: Mapping[int, Action] = {1: Action.MAC_8X8, 2: Action.MAC_8X16, 4: Action.MAC_16X16}
"""By the passes that they take."""


class MatrixUnit:
    """Sends vectors through the array, one after the other without a gap.

    Timing: a multiply of V vectors, p passes each (1; 2 with 16 bits on one side, 4 on both), that begins at t has the
    array's inputs up to t + V * p, where the next may begin. The last of its skewed sums is in the accumulators, and it
    retires, at t + V * p + inputs + outputs - 2. One that switches begins when its tile is in the weight path: cycles
    before are ``weights`` as long as no tile has come, ``shift`` while one is shifted in. Source: WO 2016/186801,
    Figs. 3 and 4; Jouppi et al., ISCA 2017, section 2.
    """

    def __init__(
        self, clock: Clock, topology: Topology, issue_queue: IssueQueue[MatrixMultiply], path: WeightPath, data: Data
    ) -> None:
        self._clock = clock
        self._array = topology.array
        self._issue_queue = issue_queue
        self._path = path
        self._data = data
        self._weights: NDArray[Any] = np.zeros((topology.array.inputs, topology.array.outputs), np.int8)

    def work(self) -> Generator[simpy.Event, Any, None]:
        unit = self._issue_queue.unit
        while True:
            op = yield from self._issue_queue.next()
            if op.switch and not self._path.full:
                yield from self._await_tile()
            yield from self._issue_queue.begin(op)
            retires = self._array.retirement_cycle(self._clock.cycle, op.vectors, op.passes)
            if op.switch:
                self._weights = self._path.take().weights
            write = self._data.multiply(op, self._weights)
            yield self._clock.timeout(op.vectors * op.passes)
            unit.spend(BUSY)
            unit.act(actions(op, self._array))
            self._issue_queue.retire(op, retires, write)

    def _await_tile(self) -> Generator[simpy.Event, Any, None]:
        unit, path, since = self._issue_queue.unit, self._path, self._clock.cycle
        yield from unit.wait_on(path.filled, Reason.WEIGHTS, f"tile {path.taken + 1} in the weight path")
        unit.spend(Reason.WEIGHTS.kind, max(since, path.shifting_since))
        if unit.spend(Reason.SHIFT.kind):
            unit.woken_by(Waker(path.unit.track, path.unit.instruction))


def actions(op: MatrixMultiply, array: Array) -> Actions:
    """What ``op`` costs: a multiplication and addition in each cell that it uses, for each vector; the bytes of its
    activations, each of which passes all cells on its way; those of its sums. Assumption.
    """
    in_bytes = op.vectors * op.rows * (2 if op.activations == "int16" else 1)
    sum_bytes = op.vectors * op.columns * SUM_BYTES
    return {
        MACS[op.passes]: op.vectors * op.rows * op.columns,
        Action.BUFFER_READ: in_bytes,
        Action.CELL_HOP: in_bytes * array.outputs,
        Action.ACCUMULATOR_READ: sum_bytes if op.accumulate else 0,
        Action.ACCUMULATOR_WRITE: sum_bytes,
    }
