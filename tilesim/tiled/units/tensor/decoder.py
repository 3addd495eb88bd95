"""What follows from an instruction alone, worked out once for all tiles that it goes to.

A decoder has no place in the hardware, and no time passes in it: it holds what each tile would work out by itself, with
the same result, for instructions are multicast.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property
from math import prod

import numpy as np
from msgspec import Struct

from tilesim.sim.core.action import Action, Actions
from tilesim.sim.pipe.costs import Costs
from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.isa.model.likeness import likeness, shape
from tilesim.tiled.isa.model.loops import Indices
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor import activation_unit, mac_array
from tilesim.tiled.units.tensor.activation_unit import ActivationUnit
from tilesim.tiled.units.tensor.elementwise import Elementwise, elementwise
from tilesim.tiled.units.tensor.interlock import chunks, last_writers
from tilesim.tiled.units.tensor.mac_array import cycles_per_step
from tilesim.tiled.units.tensor.operands import Operands
from tilesim.tiled.units.tensor.product_form import ProductForm, product_form
from tilesim.tiled.units.tensor.strided_product import StridedProduct, strided_product
from tilesim.tiled.units.tensor.weight_cache import WeightCache
from tilesim.tiled.units.tensor.windows import Box, boxes
from tilesim.tiled.units.ttu import INSTRUCTIONS, TraversalForm


class Effort(Struct, frozen=True):
    """What a tensorop takes: the cycles of its groups, what the MAC array does (``operations``), and the tensor control
    (``accesses``): an access for each cycle in which it has a port, and its activation unit's arithmetic.
    """

    costs: Costs
    operations: Actions
    accesses: Actions


class Decoded(Struct, frozen=True, dict=True):
    """A tensorop, its groups' operands, effort and hazards, and how all of them are computed at once, if they can be.

    ``last``: see :func:`~tilesim.tiled.units.tensor.interlock.last_writers`; None if no group reads what one before it
    writes.
    """

    op: TensorOp
    operands: Operands
    effort: Effort
    last: Indices | None
    regular: StridedProduct | Elementwise | None

    def pieces(self, first: int, end: int) -> Iterator[tuple[int, int, Box | None]]:
        """The groups ``first`` to ``end`` in pieces, none of which reads what it writes itself: first, end, and, where
        groups can be computed at once, the box that they are.
        """
        if self.last is None and self.regular is not None and (first, end) == (0, self.operands.count):
            yield first, end, self._whole
            return
        for low, high in [(first, end)] if self.last is None else chunks(self.last, first, end):
            if self.regular is None:
                yield low, high, None
                continue
            start = low
            for box in boxes(self._bounds, low, high):
                count = prod(to - of for of, to in box)
                yield start, start + count, box
                start += count

    @cached_property
    def _bounds(self) -> tuple[int, ...]:
        return tuple(loop.bound for loop in self.operands.group_nest.loops)

    @cached_property
    def _whole(self) -> Box:
        return tuple((0, bound) for bound in self._bounds)


class Decoder:
    """The tensorops that tiles have in hand; ``ttu`` is how their TTUs are built."""

    def __init__(self, ttu: TraversalForm) -> None:
        self._tile = ttu.tile
        self.ttu = ttu
        self._by_op: dict[int, tuple[TensorOp, Decoded]] = {}
        self._by_work: dict[Hashable, Decoded] = {}
        self._efforts: dict[Hashable, Effort] = {}
        self._forms: dict[Hashable, ProductForm | None] = {}
        self._weights = WeightCache()

    def tensorop(self, op: TensorOp, memories: TileMemories) -> Decoded:
        """``op`` for a tile with such ``memories``, like those of all others; one for all that do the same work."""
        known = self._by_op.get(id(op))
        if known is not None:  # with its op, so that no other one has its id
            return known[1]
        if len(self._by_op) >= INSTRUCTIONS:
            for kept in (self._by_op, self._by_work, self._efforts, self._forms):
                kept.clear()
        work = likeness(op)
        decoded = self._by_work.get(work)
        if decoded is None:
            decoded = self._by_work[work] = self._decode(op, memories)
        self._by_op[id(op)] = op, decoded
        return decoded

    def _decode(self, op: TensorOp, memories: TileMemories) -> Decoded:
        operands, alike = Operands(op, self.ttu.addresses), shape(op)
        last = last_writers(operands, memories, self._tile.inputs_per_cycle)
        if alike not in self._forms:
            self._forms[alike] = product_form(op, operands, memories, self._tile.inputs_per_cycle)
        form = self._forms[alike]
        regular = elementwise(op, operands, memories) if form is None else strided_product(op, form, self._weights)
        if last is not None:
            return Decoded(op, operands, self._effort(op, operands, last, memories), last, regular)
        same = alike, op.parameters and op.parameters.base % memories.row_bytes
        if same not in self._efforts:
            self._efforts[same] = self._effort(op, operands, last, memories)
        return Decoded(op, operands, self._efforts[same], last, regular)

    def _effort(self, op: TensorOp, operands: Operands, last: Indices | None, memories: TileMemories) -> Effort:
        inputs, costs = self._tile.inputs_per_cycle, self._costs(op, operands, last, memories)
        operations = mac_array.operations(op, operands.results, operands.steps, inputs, len(operands.sum_rows))
        reads, writes = int(costs.issues.sum()), int(costs.writes.sum())
        write = Action.NARROW_WRITE if op.sums_out is None else Action.WIDE_WRITE
        wide_reads = int(costs.extras.sum()) + (reads if op.weights is not None else 0)
        accesses = {Action.NARROW_READ: reads, Action.WIDE_READ: wide_reads, write: writes}
        return Effort(costs, operations, accesses | activation_unit.operations(op, operands.results))

    def _costs(self, op: TensorOp, operands: Operands, last: Indices | None, memories: TileMemories) -> Costs:
        count = operands.count
        extras = np.zeros(count, np.int64)
        if operands.parameters is not None:
            extras += ActivationUnit(memories).reads(op, operands.parameters.groups)
        extras += len(operands.sum_rows) * memories.sum_accesses(op)
        lanes = operands.lane_bound if op.nest.alternate is None else operands.lanes
        made = -(-lanes * op.output_type.bytes // memories.result_bytes(op))
        writes = made if op.sums_out is None else memories.sum_accesses(op)
        issues = operands.steps * cycles_per_step(op)
        apart = None if last is None else self._apart(last)
        return Costs(extras, np.full(count, issues, np.int64), np.full(count, writes, np.int64), apart)

    def _apart(self, last: Indices) -> Indices | None:
        depth = self._tile.output_fifo_groups
        apart = np.where(last < 0, depth, np.minimum(depth, np.arange(len(last)) - last))
        return apart if (apart < depth).any() else None
