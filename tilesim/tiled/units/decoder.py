"""What follows from an instruction alone, worked out once for all tiles that it goes to.

A decoder has no place in the hardware, and no time passes in it: it holds what each tile would work out by itself, with
the same result, for instructions are multicast.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from tilesim.sim.pipe import Costs
from tilesim.tiled.isa.instructions import TensorOp
from tilesim.tiled.topology import Tile
from tilesim.tiled.units.activation_unit import ActivationUnit
from tilesim.tiled.units.bytewise import Bytewise, bytewise
from tilesim.tiled.units.columns import Kept
from tilesim.tiled.units.interlock import chunks, last_writers
from tilesim.tiled.units.mac_array import cycles_per_step
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.operands import Indices, Operands
from tilesim.tiled.units.products import Products, products
from tilesim.tiled.units.ttu import TraversalForm
from tilesim.tiled.units.views import Box, boxes

INSTRUCTIONS = 256
"""How many are kept: more than are on their way at any time."""


@dataclass(frozen=True)
class Decoded:
    """A tensorop, its groups' operands, costs and hazards, and how all of them are computed at once, if they can be.

    ``last``: see :func:`~tilesim.tiled.units.interlock.last_writers`; None if no group reads what one before it writes.
    """

    op: TensorOp
    operands: Operands
    costs: Costs
    last: Indices | None
    regular: Products | Bytewise | None

    def pieces(self, first: int, end: int) -> Iterator[tuple[int, int, Box | None]]:
        """The groups ``first`` to ``end`` in pieces, none of which reads what it writes itself: first, end, and, where
        groups can be computed at once, the box that they are.
        """
        for low, high in [(first, end)] if self.last is None else chunks(self.last, first, end):
            if self.regular is None:
                yield low, high, None
                continue
            start = low
            for box in boxes(self._bounds, low, high):
                count = prod(to - of for of, to in box)
                yield start, start + count, box
                start += count

    @property
    def _bounds(self) -> list[int]:
        return [loop.bound for loop in self.operands.group_nest.loops]


class Decoder:
    """The instructions that tiles built like ``tile`` have in hand."""

    def __init__(self, tile: Tile) -> None:
        self._tile = tile
        self._traversal = TraversalForm(tile)
        self._decoded: OrderedDict[int, Decoded] = OrderedDict()
        self._kept = Kept()

    def tensorop(self, op: TensorOp, memories: TileMemories) -> Decoded:
        """``op`` for a tile with such ``memories``, like those of all others."""
        found = self._decoded.get(id(op))  # whose op lives as long as the entry does
        if found is None:
            found = self._decoded[id(op)] = self._decode(op, memories)
            if len(self._decoded) > INSTRUCTIONS:
                self._decoded.popitem(last=False)
        return found

    def _decode(self, op: TensorOp, memories: TileMemories) -> Decoded:
        operands = Operands(op, self._traversal.addresses)
        last = last_writers(operands, memories)
        costs = self._costs(op, operands, last, memories)
        regular = products(op, operands, memories, self._tile.inputs_per_cycle, self._kept) or bytewise(
            op, operands, memories
        )
        return Decoded(op, operands, costs, last, regular)

    def _costs(self, op: TensorOp, operands: Operands, last: Indices | None, memories: TileMemories) -> Costs:
        issues = np.full(operands.count, operands.steps * cycles_per_step(op), np.int64)
        extras = np.zeros(operands.count, np.int64)
        if operands.parameters is not None:
            activation = ActivationUnit(memories)
            rows = activation.row(operands.parameters.groups)
            extras[0] = activation.rows(op)
            extras[1:] += activation.rows(op) * (rows[1:] != rows[:-1])
        if operands.sums_in is not None:
            extras += 1
        writes = np.ones_like(issues) if op.sums_out is not None else -(-operands.lanes // memories.word_bytes)
        return Costs(extras, issues, writes, None if last is None else self._apart(last))

    def _apart(self, last: Indices) -> Indices | None:
        depth = self._tile.output_fifo_groups
        apart = np.where(last < 0, depth, np.minimum(depth, np.arange(len(last)) - last))
        return apart if (apart < depth).any() else None
