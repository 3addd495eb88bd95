"""Mesh links of which one end has no more words."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.hang.context import Amount, Story, amount, waits
from tilesim.tiled.isa.model.fields import Side
from tilesim.tiled.isa.model.instructions import Instruction, MeshIn, MeshOut, counted_nest
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.neighbours import OPPOSITE, neighbour


def words(story: Story) -> Iterator[str]:
    """The mesh links of which one end moves more words than the other."""
    grid = story.program.topology.grid
    for tile in story.chip.tiles:
        for side, engine in tile.mesh_in.items():
            origin = neighbour(grid, tile.index, side)
            if origin is None:
                continue
            sender = story.chip.tiles[origin].mesh_out[OPPOSITE[side]]
            sent = list(_moved(story.ops, MeshOut, origin, OPPOSITE[side]))
            taken = list(_moved(story.ops, MeshIn, tile.index, side))
            if (waits(engine.unit) or waits(sender.unit)) and _total(sent) != _total(taken):
                yield (
                    f"mesh from tile {origin} to tile {tile.index}: the program sends {amount('word', sent)} and "
                    f"takes {amount('word', taken)}"
                )


def _moved(ops: tuple[Instruction, ...], kind: type, tile: int, side: Side) -> Iterator[Amount]:
    for op in ops:
        if not (isinstance(op, kind) and isinstance(op, MeshIn | MeshOut)) or getattr(op, "fill", None) is not None:
            continue
        if op.side == side and op.tiles >> tile & 1:
            yield op.label, iterations(counted_nest(op))


def _total(parts: list[Amount]) -> int:
    return sum(count for _, count in parts)
