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

    def touched_bytes(self, name: str, unit_bytes: int, inputs_per_cycle: int) -> Indices:
        """The bytes that each group reads (in a step) or writes from its address on, as far as words, or registers'
        bytes, of ``unit_bytes`` tell: of bytes a step reads one word, and the weights of all lanes.
        """
        per_lane, always = self._sizes(name, unit_bytes, inputs_per_cycle)
        return np.broadcast_to(per_lane * self.lanes if per_lane else np.int64(always), self.count)

    def _sizes(self, name: str, unit_bytes: int, inputs_per_cycle: int) -> tuple[int, int]:
        """The same of a lane, or of all if it is the same for any number of them."""
        op = self._op
        if name in ("sums_in", "sums_out"):
            return 0, (op.sum_registers - 1) * unit_bytes + 1
        if name == "output":
            return op.output_type.bytes, 0
        inputs = inputs_per_cycle if op.operation is Operation.CONVOLUTION else 1
        if name == "weights":
            each = inputs * op.weight_type.bytes
            return (each, 0) if op.weight_type.bytes > 1 else (0, each * self.lane_bound)
        if op.input_type.bytes == 1:
            return 0, 1
        if op.operation is not Operation.CONVOLUTION:
            return op.input_type.bytes, 0
        return 0, inputs * op.input_type.bytes

    def may_meet(self, read: str, written: str, unit_bytes: int, inputs_per_cycle: int) -> bool:
        """Whether there are both operands, and some units of so many bytes lie between the first and the last of
        either, so that one may be read and written.
        """
        sources: tuple[Reference | None, ...] = (getattr(self._op, read), getattr(self._op, written))
        if sources[0] is None or sources[1] is None:
            return False
        groups, steps = self.group_nest.loops, self.step_nest.loops
        (low, high), (first, last) = (_ends(sources[0], (*groups, *steps)), _ends(sources[1], groups))
        sizes = (self._sizes(name, unit_bytes, inputs_per_cycle) for name in (read, written))
        read_bytes, written_bytes = (per_lane * self.lane_bound + always for per_lane, always in sizes)
        behind = written_bytes - 1
        if written == "output" and self.word_stride_bytes is not None:
            behind = behind // unit_bytes * self.word_stride_bytes
        high, last, first = high + read_bytes - 1, last + max(0, behind), first + min(0, behind)
        return low // unit_bytes <= last // unit_bytes and high // unit_bytes >= first // unit_bytes

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
