"""Who is whose neighbour on the mesh, and what a node of the ring is called."""

from __future__ import annotations

from tilesim.tiled.isa.model.fields import Side
from tilesim.tiled.topology import Grid

STEPS = {Side.NORTH: (-1, 0), Side.EAST: (0, 1), Side.SOUTH: (1, 0), Side.WEST: (0, -1)}
OPPOSITE = {Side.NORTH: Side.SOUTH, Side.EAST: Side.WEST, Side.SOUTH: Side.NORTH, Side.WEST: Side.EAST}


def neighbour(grid: Grid, tile: int, side: Side) -> int | None:
    """The tile beside ``tile`` at ``side``; None off the grid."""
    row, column = divmod(tile, grid.columns)
    down, right = STEPS[side]
    if 0 <= row + down < grid.rows and 0 <= column + right < grid.columns:
        return tile + down * grid.columns + right
    return None


def node_name(node: int, tiles: int) -> str:
    """A node of the ring in words."""
    return f"tile {node - 1}" if 0 < node <= tiles else {0: "source", tiles + 1: "classifier"}.get(node, "sink")
