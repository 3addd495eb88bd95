"""Which channel stands in which block of a row, and after how many steps from block to block all have met.

A map says of each block the channel that it holds, -1 for none. In step c, the units of block g meet block ``g - c``
if words rotate up, ``g + c`` if down.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.compiler.blocks import factors

Channels = tuple[int, ...]
"""A map."""
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


def repeated(channels: int, blocks: int, period: int, first: int = 0) -> Channels:
    """``channels`` of them from ``first`` on, again every ``period`` blocks; what is left of a period has those that
    come next.
    """
    return tuple(first + (block % period) % channels for block in range(blocks))


@lru_cache(maxsize=4096)
def around(channels: int, blocks: int, first: int = 0) -> Channels:
    """The map of all blocks in which any unit meets all ``channels`` soonest: wrapped, or with the period of the next
    divisor.
    """
    period = next(size for size in factors(blocks) if size >= channels)
    wrapped = channels if blocks % channels == 0 else min(blocks, channels + blocks % channels)
    return repeated(channels, blocks, period if period < wrapped else channels, first)


@lru_cache(maxsize=4096)
def groups_of(channels: int, blocks: int) -> tuple[Channels, ...]:
    """A map for each row of a line: as many channels in each as there are blocks."""
    return tuple(around(min(blocks, channels - first), blocks, first) for first in range(0, channels, blocks))


@lru_cache(maxsize=4096)
def stretch(channels: int, blocks: int, first: int, end: int) -> Channels:
    """A map of the blocks ``first`` (which may be negative) up to ``end`` only, each with channel ``block % channels``;
    any unit whose ``channels`` last blocks are among these meets each in as many steps.
    """
    held = [-1] * blocks
    for block in range(first, end):
        held[block % blocks] = block % channels
    return tuple(held)


def lone_steps(channels: Channels, up: bool) -> Indices:
    """Of each block, for how many steps it goes before it meets units that have met its channel already: those of the
    next block that has the channel, or of its own, a full circle later. 0 for one that holds none.
    """
    held = np.array(channels, np.int64)[:: 1 if up else -1]
    steps = np.full(len(held), len(held), np.int64)
    order = np.argsort(held, kind="stable")
    own = held[order]
    same = np.flatnonzero(own[1:] == own[:-1])
    steps[order[same]] = order[same + 1] - order[same]
    starts = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
    ends = np.append(starts[1:], len(held)) - 1
    steps[order[ends]] = order[starts] + len(held) - order[ends]
    steps[held < 0] = 0
    return steps[:: 1 if up else -1]


@lru_cache(maxsize=4096)
def steps_of(channels: Channels, used: tuple[bool, ...], up: bool) -> int:
    """In how many steps the units of all ``used`` blocks have met each channel that there is."""
    way = 1 if up else -1
    blocks = len(channels)
    alone = lone_steps(channels, up)[::way]
    wanted = np.flatnonzero(np.tile(np.array(used)[::way], 2))
    if not wanted.size or not alone.any():
        return 1
    last = np.searchsorted(wanted, np.arange(blocks) + alone - 1, side="right") - 1
    reached = np.where(last >= 0, wanted[last], -1) - np.arange(blocks)
    return int(max(1, reached[alone > 0].max() + 1))


def meetings(channels: Channels, steps: int, up: bool) -> Indices:
    """Of each step and block of units, (steps, blocks), the channel that comes by for the first time, -1 for none."""
    held, alone = np.array(channels, np.int64), lone_steps(channels, up)
    turn = np.arange(steps)[:, None]
    block = (np.arange(len(channels)) + (-turn if up else turn)) % len(channels)
    return np.where(turn < alone[block], held[block], -1)
