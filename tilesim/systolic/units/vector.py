"""The vector unit: activation, normalisation, pooling; how long it takes for its instructions, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from math import prod
from typing import Any

import numpy as np
import simpy

from tilesim.sim.core.action import Action, Actions
from tilesim.sim.core.clock import Clock
from tilesim.sim.core.unit import BUSY
from tilesim.systolic.isa.model import instructions as isa
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.data import Data
from tilesim.systolic.units.issue_queue import IssueQueue

PARAMETERS = 3
"""Numbers of 32 bits for each column: bias, multiplier, shift."""
SOFTMAX_PASSES = 3
"""The largest element, the sum of the exponentials, the quotients."""
TABLE_BYTES = 256

SCALED: Actions = {Action.ADD_32: 2, Action.MULTIPLY_32: 1}
"""What a value costs that is scaled: bias, multiplier, zero point. Assumption, as is that rounding and clamping cost
nothing.
"""
COMBINED: Mapping[str, Actions] = {
    "add": {Action.MULTIPLY_32: 3, Action.ADD_32: 2},
    "multiply": {Action.MAC_8X8: 1, Action.MULTIPLY_32: 1, Action.ADD_32: 1},
}
"""What a value costs that is made of two. Assumption."""
LOOKED_UP: Actions = {Action.LOOKUP: 1}
SHARED_OUT: Actions = {Action.LOOKUP: 1, Action.ADD_32: 1, Action.MULTIPLY_32: 1}
"""What a value of a softmax costs: its exponential, its share in the sum, scaling by that. Assumption."""


class VectorUnit:
    """Takes sums from the accumulators, or operands from the unified buffer, and writes results to the buffer.

    Timing: an instruction that begins at t has taken its operands at t + :func:`cycles`, where the next
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
            op: isa.VectorInstruction = yield from self._issue_queue.next()
            yield from self._issue_queue.begin(op)
            write = self._data.compute(op)
            yield self._clock.timeout(cycles(op, self._topology))
            unit.spend(BUSY)
            unit.act(actions(op))
            self._issue_queue.retire(op, self._clock.cycle + self._topology.vector_unit.pipeline_cycles, write)


def cycles(op: isa.VectorInstruction, topology: Topology) -> int:
    """Cycles until the last operand of ``op`` has been taken.

    An activation of V vectors of N sums reads its parameters, of 4 N bytes each, ``width_bytes`` a cycle, then
    ceil(N / lanes) cycles a vector, whatever is done with them after. Anything else has a cycle for each chunk of up
    to ``lanes`` contiguous values of its result, times the operands of each: two of an addition or a multiplication,
    a window's of a pooling; a softmax passes three times. Assumption.
    """
    lanes = topology.vector_unit.lanes
    if isinstance(op, isa.Activate):
        parameters = PARAMETERS * -(-4 * op.columns // topology.unified_buffer.width_bytes)
        return parameters + op.vectors * -(-op.columns // lanes)
    if isinstance(op, isa.Pool):
        return op.window.positions * prod(op.window.kernel) * -(-op.window.channels // lanes)
    times = 2 if isinstance(op, isa.Combine) else SOFTMAX_PASSES if isinstance(op, isa.RowSoftmax) else 1
    run = -(-op.destination.bytes // size_of(op))
    return times * prod(op.destination.counts) * -(-run // lanes)


def size_of(op: isa.VectorInstruction) -> int:
    """Bytes of a value that ``op`` makes."""
    element: isa.Element = op.result if isinstance(op, isa.Requantise) else getattr(op, "element", "uint8")
    return np.dtype(element).itemsize


def actions(op: isa.VectorInstruction) -> Actions:
    """What ``op`` costs: bytes of its operands and results, and arithmetic by value."""
    total: Actions = {}
    for part in _ACTIONS[type(op)](op):
        for action, count in part.items():
            total[action] = total.get(action, 0) + count
    return total


def _activate(op: isa.Activate) -> list[Actions]:
    sums = op.vectors * op.columns
    made = op.window.positions * op.columns if op.pool and op.window else sums
    parts = [
        {Action.ACCUMULATOR_READ: 4 * sums, Action.BUFFER_READ: PARAMETERS * 4 * op.columns},
        _times(SCALED, sums),
        {Action.BUFFER_WRITE: made * size_of(op)},
    ]
    if op.table >= 0:
        parts += [{Action.BUFFER_READ: TABLE_BYTES}, _times(LOOKED_UP, sums)]
    if op.normalise:
        parts.append(_normalised(op.normalise, made if op.pool_first else sums))
    if op.pool and op.window:
        parts.append(_pooled(op.pool, op.window, made))
    return parts


def _pool(op: isa.Pool) -> list[Actions]:
    made = op.window.positions * op.window.channels
    read = made * prod(op.window.kernel) * size_of(op)
    moved: Actions = {Action.BUFFER_READ: read, Action.BUFFER_WRITE: made * size_of(op)}
    return [moved, _pooled(op.pool, op.window, made)]


def _pooled(pool: isa.Pooling, window: isa.Window, values: int) -> Actions:
    """A comparison or an addition an element of the window, an average's scaling. Assumption."""
    if pool.function == "average":
        return {Action.ADD_32: values * (prod(window.kernel) + 1), Action.MULTIPLY_32: values}
    return {Action.ADD_8: values * prod(window.kernel)}


def _normalised(normalise: isa.Normalise, values: int) -> Actions:
    """A square, the sum of the neighbours', a power from a table, a product. Assumption."""
    return {Action.MULTIPLY_32: 2 * values, Action.ADD_32: normalise.size * values, Action.LOOKUP: values}


def _normalisation(op: isa.Normalisation) -> list[Actions]:
    return [_moved(op, op.source), _normalised(op.normalise, _bytes(op.source) // size_of(op))]


def _combine(op: isa.Combine) -> list[Actions]:
    return [_moved(op, op.a, op.b), _times(COMBINED[op.function], _bytes(op.destination) // size_of(op))]


def _moved(op: Any, *sources: isa.Nest) -> Actions:
    return {Action.BUFFER_READ: sum(map(_bytes, sources)), Action.BUFFER_WRITE: _bytes(op.destination)}


def _bytes(nest: isa.Nest) -> int:
    return nest.bytes * prod(nest.counts)


def _times(actions: Actions, values: int) -> Actions:
    return {action: count * values for action, count in actions.items()}


def _per_value(costs: Actions) -> Callable[[Any], list[Actions]]:
    return lambda op: [_moved(op, op.source), _times(costs, _bytes(op.destination) // size_of(op))]


_ACTIONS: Mapping[type, Callable[[Any], list[Actions]]] = {
    isa.Activate: _activate,
    isa.Pool: _pool,
    isa.Normalisation: _normalisation,
    isa.Combine: _combine,
    isa.Requantise: _per_value(SCALED),
    isa.Lookup: lambda op: [*_per_value(LOOKED_UP)(op), {Action.BUFFER_READ: TABLE_BYTES}],
    isa.Copy: _per_value({}),
    isa.Fill: lambda op: [_moved(op)],
    isa.RowSoftmax: _per_value(SHARED_OUT),
}
