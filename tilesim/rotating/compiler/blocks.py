"""How many words of a row a channel's line takes."""

from __future__ import annotations

from tilesim.network.operators import Padding
from tilesim.rotating.topology import Topology


def factors(units: int) -> list[int]:
    """Sizes of blocks that a row of ``units`` words can be cut into, the least first."""
    return [size for size in range(1, units + 1) if units % size == 0]


def least_words(width: int, padding: Padding, vector: bool, topology: Topology) -> int:
    """The fewest words of a block for a line of ``width``, whose readers reach over its edges as ``padding`` says.

    A pad word serves the right edge of its own block and the left edge of the next. A ``vector`` has blocks of its
    only word.

    Source: US 2018/0157962, claim 1, for blocks that are longer than a line; room for padding is an assumption.
    """
    at_least = vector or topology.units.block_rule == "at_least"
    return max(width if at_least else width + 1, width + max(padding.left, padding.right))


def block_size(words: int, units: int) -> int | None:
    """The smallest size that has room for ``words``; None where no row has."""
    return next((size for size in factors(units) if size >= words), None)


def slots(block: int, stride: int, words: int, most: int) -> int:
    """Into how many parts a block is cut by a layer of ``stride``: the most whose parts have room for ``words``, but
    at most ``most``; 0 if the block itself has none.
    """
    parts = [d for d in range(1, min(stride, most) + 1) if stride % d == 0 == block % d and block // d >= words]
    return max(parts, default=0)
