"""The address streams of one tensorop: what its TTU emits, split into result groups and the reduction inside each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np

from tilesim.tiled.isa.model.fields import Loop, Nest, Reference
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.isa.model.loops import Indices, addresses, without

Addresses: TypeAlias = Callable[[Nest, Reference], Indices]


class AddressStream:
    """Addresses of one operand: ``groups[g] + steps[k]`` in reduction step k of group g."""

    def __init__(self, reference: Reference, nests: tuple[Nest, Nest], addresses: Addresses) -> None:
        self._reference, self._nests, self._addresses = reference, nests, addresses

    @cached_property
    def groups(self) -> Indices:
        return self._addresses(self._nests[0], self._reference)

    @cached_property
    def steps(self) -> Indices:
        return self._addresses(self._nests[1], Reference(0, self._reference.strides))

    def at(self, first: int, end: int) -> Indices:
        """Addresses of groups ``first`` to ``end``: (groups, steps)."""
        return self.groups[first:end, None] + self.steps


class Operands:
    """Everything a tensorop addresses, worked out where somebody asks. ``group_nest`` are the loops outside the
    reduction, ``step_nest`` those inside, ``lanes`` each group's lanes; ``addresses`` is what the tile's TTUs make of a
    nest and a reference.
    """

    def __init__(self, op: TensorOp, addresses: Addresses = addresses) -> None:
        self._op = op
        self._addresses = addresses
        self.group_nest = without(op.nest, (*op.reduce, op.nest.loops[-1].name))
        self.step_nest = Nest(tuple(loop for loop in op.nest.loops if loop.name in op.reduce))
        self.count = prod(loop.bound for loop in self.group_nest.loops)
        self.steps = prod(loop.bound for loop in self.step_nest.loops)
        self.lane_bound = op.nest.loops[-1].bound

    @cached_property
    def input(self) -> AddressStream:
        return self._stream(self._op.input)

    @cached_property
    def input_b(self) -> AddressStream | None:
        return self._optional(self._op.input_b)

    @cached_property
    def weights(self) -> AddressStream | None:
        return self._optional(self._op.weights)

    @cached_property
    def parameters(self) -> AddressStream | None:
        return self._optional(self._op.parameters)

    @cached_property
    def sums_in(self) -> AddressStream | None:
        return self._optional(self._op.sums_in)

    @cached_property
    def sum_rows(self) -> Indices:
        """How far the rows of sums that a group adds lie behind its first one: one row, or one for each iteration of
        the reduction loops that move ``sums_in``; none without.
        """
        reference = self._op.sums_in
        if reference is None:
            return np.empty(0, np.int64)
        moving = {name for name, stride in reference.strides if stride}
        rows = Nest(tuple(loop for loop in self.step_nest.loops if loop.name in moving))
        return self._addresses(rows, Reference(0, reference.strides))

    @cached_property
    def sums_out(self) -> AddressStream | None:
        return self._optional(self._op.sums_out)

    @cached_property
    def output(self) -> AddressStream | None:
        return self._optional(self._op.output)

    @property
    def word_stride_bytes(self) -> int | None:
        """From one word of a group's output to the next, if these do not lie side by side."""
        return dict(self._op.output.strides).get(self._op.nest.loops[-1].name) if self._op.output else None

    @cached_property
    def results(self) -> int:
        """Lanes of all groups together."""
        return self.count * self.lane_bound if self._op.nest.alternate is None else int(self.lanes.sum())

    @cached_property
    def lanes(self) -> Indices:
        """Lanes of each group: the innermost bound, or the alternate limit in the last iteration of its loop."""
        alternate = self._op.nest.alternate
        if alternate is None:
            return np.full(self.count, self.lane_bound, np.int64)
        grid = np.full([loop.bound for loop in self.group_nest.loops], self.lane_bound, np.int64)
        at = [loop.name for loop in self.group_nest.loops].index(alternate.loop)
        grid[(slice(None),) * at + (-1,)] = alternate.limit
        return grid.reshape(-1)

    def weight_bytes(self, inputs: int) -> int:
        """What all lanes take of the weights in a step; those of a convolution take ``inputs`` bytes each."""
        return self.lane_bound * (inputs if self._op.operation is Operation.CONVOLUTION else 1)

    def may_meet(self, read: str, written: str, unit_bytes: int, read_bytes: int = 1) -> bool:
        """Whether there are both operands, and some units of so many bytes lie between the first and the last of
        either, so that one may be read and written; a read takes ``read_bytes``.
        """
        sources: tuple[Reference | None, ...] = (getattr(self._op, read), getattr(self._op, written))
        if sources[0] is None or sources[1] is None:
            return False
        groups, steps = self.group_nest.loops, self.step_nest.loops
        (low, high), (first, last) = (_ends(sources[0], (*groups, *steps)), _ends(sources[1], groups))
        high += read_bytes - 1
        behind = self._last_word(unit_bytes) if written == "output" else 0
        last, first = last + max(0, behind), first + min(0, behind)
        return low // unit_bytes <= last // unit_bytes and high // unit_bytes >= first // unit_bytes

    def _last_word(self, word_bytes: int) -> int:
        """From the first word of a group's output to the last."""
        return ((self.lane_bound - 1) // word_bytes) * (self.word_stride_bytes or word_bytes)

    def _stream(self, reference: Reference) -> AddressStream:
        return AddressStream(reference, (self.group_nest, self.step_nest), self._addresses)

    def _optional(self, reference: Reference | None) -> AddressStream | None:
        return None if reference is None else self._stream(reference)


def _ends(reference: Reference, loops: tuple[Loop, ...]) -> tuple[int, int]:
    """The lowest and the highest address."""
    strides = dict(reference.strides)
    low = high = reference.base
    for loop in loops:
        reach = (loop.bound - 1) * strides.get(loop.name, 0)
        low, high = low + min(0, reach), high + max(0, reach)
    return low, high
