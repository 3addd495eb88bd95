"""Tiles count the transfers that pass them from their first fence on: none may pass before."""

from __future__ import annotations

from collections.abc import Sequence

from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import Instruction, ScalarFence, TileFence, Work
from tilesim.tiled.rules.untimed.transfers import Transfer, sent_by
from tilesim.tiled.topology import Topology

TURN = Flag.RING_PRODUCER_A


def with_start_fence(ops: Sequence[Instruction], chip: Topology) -> tuple[Instruction, ...]:
    """``ops``, with a wait for tiles to have begun in front of the first transfer whose tail they may otherwise miss.

    A tile has begun that sends or takes rows, whose instructions wait behind its fence, and stays so for all that
    follows, as transfers go one after the other. Only tiles count that wait for a turn.
    """
    counting = _counting(ops)
    begun = fenced = 0
    for place, op in enumerate(ops):
        if isinstance(op, TileFence) and op.increment:
            fenced |= op.tiles
        elif isinstance(op, ScalarFence):
            begun |= fenced
        for master, to, rows in sent_by(op, chip):
            transfer = Transfer(0, op, op.label, place, 0, master, to, rows, chip.tiles + 3)
            begun |= to | (1 << master) >> 1
            if transfer.occupied >> 1 & counting & ~begun:
                return (*ops[:place], *_wait(counting & ~begun), *ops[place:])
    return tuple(ops)


def _counting(ops: Sequence[Instruction]) -> int:
    """The tiles that wait for a turn."""
    tiles = 0
    for op in ops:
        if isinstance(op, Work) and any(watcher.flag == TURN for watcher in op.wait):
            tiles |= op.tiles
    return tiles


def _wait(tiles: int) -> tuple[TileFence, ScalarFence]:
    return (
        TileFence(tiles=tiles, idle=(), increment=1, label="started.fence"),
        ScalarFence(count=tiles.bit_count(), label="started"),
    )
