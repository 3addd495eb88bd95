"""The address streams of one tensorop: what its TTU emits, split into result groups and the reduction inside each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.isa.fields import Nest, Reference
from tilesim.tiled.isa.instructions import TensorOp
from tilesim.tiled.units import ttu

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    """Addresses of one operand: ``groups[g] + steps[k]`` in reduction step k of group g."""

    groups: Indices
    steps: Indices

    def at(self, first: int, end: int) -> Indices:
        """Addresses of groups ``first`` to ``end``: (groups, steps)."""
        return self.groups[first:end, None] + self.steps


class Operands:
    """Everything a tensorop addresses. ``group_nest`` are the loops outside the reduction, ``lanes`` each group's
    lanes; ``addresses`` is what the tile's TTUs make of a nest and a reference.
    """

    def __init__(self, op: TensorOp, addresses: Callable[[Nest, Reference], Indices] = ttu.addresses) -> None:
        self._addresses = addresses
        self.group_nest = ttu.without(op.nest, (*op.reduce, op.nest.loops[-1].name))
        self._step_nest = Nest(tuple(loop for loop in op.nest.loops if loop.name in op.reduce))
        self.count = prod(loop.bound for loop in self.group_nest.loops)
        self.steps = prod(loop.bound for loop in self._step_nest.loops)
        self.lane_bound = op.nest.loops[-1].bound
        self.lanes = self._lanes(op.nest)
        self.input = self._stream(op.input)
        self.input_b = self._optional(op.input_b)
        self.weights = self._optional(op.weights)
        self.parameters = self._optional(op.parameters)
        self.sums_in = self._optional(op.sums_in)
        self.sums_out = self._optional(op.sums_out)
        self.output = self._optional(op.output)

    def _stream(self, reference: Reference) -> Stream:
        steps = Reference(0, reference.strides)
        return Stream(self._addresses(self.group_nest, reference), self._addresses(self._step_nest, steps))

    def _optional(self, reference: Reference | None) -> Stream | None:
        return None if reference is None else self._stream(reference)

    def _lanes(self, nest: Nest) -> Indices:
        """Lanes of each group: the innermost bound, or the alternate limit in the last iteration of its loop."""
        if nest.alternate is None:
            return np.full(self.count, self.lane_bound, np.int64)
        grid = np.full([loop.bound for loop in self.group_nest.loops], self.lane_bound, np.int64)
        at = [loop.name for loop in self.group_nest.loops].index(nest.alternate.loop)
        grid[(slice(None),) * at + (-1,)] = nest.alternate.limit
        return grid.reshape(-1)
