"""In which order a layer's outer loops stand on a tile, and what each order costs beside the steps themselves.

Each step reads a narrow word and a wide row of weights, whatever the order. What differs are the reads of parameter
rows, three whenever the block of lanes changes; the partial sums, a row for each result group, that are written and
read again if input channels stand outside; and when the first rows are whole, for which neighbours may wait.

Source: US 19/025,090 [0064], [0069] for the order of the loops as the programmer's choice; which is best is an
assumption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tilesim.machines.policies import BLOCKS, INPUTS, PIXELS, ROWS
from tilesim.tiled.compiler.task import Level

PARAMETER_ROWS = 3
"""Wide rows of bias, multiplier and shift that are read for a block of lanes."""

OUTSIDE: Mapping[str, tuple[int, ...]] = {ROWS: (0, 1, 2), BLOCKS: (1, 0, 2), PIXELS: (0, 2, 1), INPUTS: (0, 1, 2)}
"""Where rows (0), blocks of lanes (1) and turns along a row (2) stand, outermost first."""


def ordered(order: str, outer: Sequence[Sequence[Level]]) -> list[Level]:
    """The loops over rows, blocks of lanes and turns along a row in another order."""
    return [level for place in OUTSIDE[order] for level in outer[place]]


class OuterLoops(Struct, frozen=True):
    """A layer on a tile: output ``rows``, each ``turns`` of ``blocks`` of lanes; ``words`` of input channels."""

    rows: int
    blocks: int
    turns: int
    words: int = 1

    @property
    def groups(self) -> int:
        """Result groups."""
        return self.rows * self.blocks * self.turns

    def parameter_reads(self, order: str) -> int:
        """Wide reads of bias, multiplier and shift: one block's stay until the block changes."""
        if self.blocks == 1:
            return PARAMETER_ROWS
        changes = {BLOCKS: self.blocks, PIXELS: self.groups}
        return PARAMETER_ROWS * changes.get(order, self.rows * self.blocks)

    def sum_reads(self, order: str) -> int:
        """Wide reads of partial sums; there are as many writes."""
        return self.groups * (self.words - 1) if order == INPUTS else 0

    def best(self, by_row: bool) -> str:
        """The order with the fewest accesses; rows outermost if neighbours wait for one row after the other."""
        orders = (ROWS,) if by_row else (ROWS, BLOCKS, PIXELS, INPUTS)
        return min(orders, key=lambda order: self.parameter_reads(order) + 2 * self.sum_reads(order))
