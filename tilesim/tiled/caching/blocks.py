"""A fully connected layer too large for one tile: how many of its blocks of outputs each tile gets."""

from __future__ import annotations

from collections.abc import Sequence


def blocks_per_tile(blocks: int, block_bytes: int, budget_bytes: Sequence[int]) -> dict[int, int]:
    """The blocks of each tile that gets some: all in one tile if it has room, else over as few tiles as can be, the one
    with the most room first, each as full as it may be (strictly below its budget). Empty if there is no room for all.

    **Source**: US 2025/0265455 [0050] (rather one unit) and [0058] (split by blocks of outputs).
    """
    shares: dict[int, int] = {}
    left = blocks
    for tile in sorted(range(len(budget_bytes)), key=lambda tile: (-budget_bytes[tile], tile)):
        share = min(left, max(0, budget_bytes[tile] - 1) // block_bytes)
        if share:
            shares[tile] = share
        left -= share
    return {} if left else shares
