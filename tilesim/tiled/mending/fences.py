"""Additions for a fence of the controller that waits for more tile fences than there are."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.instructions import RingConsume, ScalarFence, TileFence
from tilesim.tiled.mending.additions import AddedFence, Addition, Draft


def fence_additions(draft: Draft) -> Iterator[Addition]:
    """A tile fence with as many increments as the first such fence lacks: where rows have been expected since the fence
    before it, or on all tiles.
    """
    program = draft.program
    left, waited = 0, 0
    for place, op in enumerate((*program.load, *program.run)):
        if isinstance(op, TileFence):
            left += op.increment * op.tiles.bit_count()
        elif isinstance(op, RingConsume):
            waited |= op.tiles
        elif isinstance(op, ScalarFence):
            left -= op.count
            if left < 0:
                yield from _filled(draft, place, -left, waited)
                return
            waited = 0


def _filled(draft: Draft, place: int, missing: int, waited: int) -> Iterator[Addition]:
    every = (1 << draft.program.topology.tiles) - 1
    singles = (1 << tile for tile in range(draft.program.topology.tiles) if waited >> tile & 1)
    for tiles in dict.fromkeys((waited, *singles, every)):
        increment, rest = divmod(missing, max(1, tiles.bit_count()))
        if tiles and increment and not rest:
            for idle in ((Engine.RING_CONSUMER,), (Engine.RING_PRODUCER,), tuple(Engine)):
                fence = TileFence(tiles=tiles, idle=idle, increment=increment)
                yield AddedFence(draft.places[place], (fence,))
