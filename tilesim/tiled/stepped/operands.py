"""What one tensorop addresses: its result groups, the reduction inside each, and the places that they touch."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.model.fields import Nest, Reference
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.stepped.memory import Bytes, Memories
from tilesim.tiled.stepped.ttu import Iteration, walk

Place = tuple[str, int]
"""A memory and the number of a word (narrow), or of what sums of all lanes take (wide), in it."""


class Operands:
    """The loops around the reduction make the ``groups``, those of the reduction the ``steps`` of each; the innermost
    one is the lanes.
    """

    def __init__(self, op: TensorOp, memories: Memories, inputs_per_cycle: int) -> None:
        outer = op.nest.loops[: len(op.nest.loops) - 1 - len(op.reduce)]
        inner = op.nest.loops[len(outer) : -1]
        self.groups: Iterator[Iteration] = walk(Nest(outer))
        self.steps = list(walk(Nest(inner)))
        self.reduction = {loop.name for loop in inner}
        self._op = op
        self._memories = memories
        self._inputs_per_cycle = inputs_per_cycle

    def lanes(self, group: Iteration) -> int:
        """The innermost bound, or the alternate limit in the last iteration of its loop."""
        nest = self._op.nest
        bounds = {loop.name: loop.bound for loop in nest.loops}
        if nest.alternate and group.counters[nest.alternate.loop] == bounds[nest.alternate.loop] - 1:
            return nest.alternate.limit
        return nest.loops[-1].bound

    def read(self, group: Iteration, step: Iteration) -> tuple[Bytes, Bytes | None]:
        """The input, and the second one or the weights, of one reduction step."""
        op, lanes, narrow = self._op, self.lanes(group), self._memories.narrow
        size = self._input_bytes(lanes)
        x = narrow.read(self._address(op.input, group, step), size)
        if op.input_b:
            return x, narrow.read(self._address(op.input_b, group, step), size)
        if op.weights is None:
            return x, None
        return x, self._memories.wide.read(self._address(op.weights, group, step), self._weight_bytes(lanes))

    def rows_of_sums(self, group: Iteration) -> list[int]:
        """Where the rows of sums lie that a group adds: each place to which the reduction moves the first, in turn."""
        reference = self._op.sums_in
        if reference is None:
            return []
        moving = {loop for loop, stride in reference.strides if stride}
        turns = (step for step in self.steps if not any(step.counters[k] for k in self.reduction - moving))
        return [self._address(reference, group, step) for step in turns]

    def reads_where_it_writes(self, group: Iteration) -> frozenset[Place]:
        """What a group reads of the memory that the instruction writes."""
        op = self._op
        if op.sums_out is None:
            return frozenset(self._words_read(group))
        return frozenset(("wide", place) for place in self._sums_read(group))

    def _sums_read(self, group: Iteration) -> Iterator[int]:
        op, unit = self._op, self._memories.sums_bytes
        for address in self.rows_of_sums(group):
            yield from (address // unit, address // unit + (16 in op.widths))
        if op.weights is None:
            return
        width = self._weight_bytes(self.lanes(group) if op.widths[1] > 8 else op.nest.loops[-1].bound)
        for step in self.steps:
            first = self._address(op.weights, group, step)
            yield from range(first // unit, (first + width - 1) // unit + 1)

    def _words_read(self, group: Iteration) -> Iterator[Place]:
        word_bytes, size = self._memories.word_bytes, self._input_bytes(self.lanes(group))
        for reference in filter(None, (self._op.input, self._op.input_b)):
            for step in self.steps:
                address = self._address(reference, group, step)
                for word in range(address // word_bytes, (address + size - 1) // word_bytes + 1):
                    yield "narrow", word

    def _input_bytes(self, lanes: int) -> int:
        elements = self._inputs_per_cycle if self._op.operation is Operation.CONVOLUTION else lanes
        return elements * self._op.widths[0] // 8

    def _weight_bytes(self, lanes: int) -> int:
        inputs = self._inputs_per_cycle if self._op.operation is Operation.CONVOLUTION else 1
        return lanes * inputs * self._op.widths[1] // 8

    def _address(self, reference: Reference, group: Iteration, step: Iteration) -> int:
        return group.address(reference) + step.address(reference) - reference.base
