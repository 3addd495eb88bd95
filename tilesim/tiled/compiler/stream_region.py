"""The region of wide memory through which sets of parameters stream: how large it is, and which set lies where when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.lowering.allocation import Lifetime, allocate
from tilesim.tiled.compiler.parameters import ParameterSets, SetKey
from tilesim.tiled.compiler.wide_layout import StreamBuffer

Uses = Mapping[SetKey, range]
"""From which round of tensorops to which a set is used."""

Integers = NDArray[np.int64]
"""A number for each set that streams, in the order of their use."""


class Rounds(Struct, frozen=True):
    """From which round to which each set that streams is used, in the order of their use."""

    start: Sequence[int]
    stop: Sequence[int]


def least_bytes(sets: ParameterSets, uses: Uses) -> int:
    """All that any one round needs, for which the stream region must have room."""
    live: dict[int, int] = {}
    for key, rounds in uses.items():
        for now in rounds:
            live[now] = live.get(now, 0) + sets.rows_bytes(key)
    return max(live.values(), default=0)


def region_bytes(sets: ParameterSets, uses: Uses, free_bytes: int, following: int = 2) -> int:
    """Bytes through which all sets could stream: the least, or, so that one can come while the one before is in use,
    any so many that follow each other, or fewer, but two, if that leaves half of the memory to what stays.
    """
    least = least_bytes(sets, uses)
    sizes = [sets.rows_bytes(key) for key in _by_use(uses, uses)]
    for count in range(following, 1, -1):
        several = max((sum(sizes[k : k + count]) for k in range(len(sizes) - count + 1)), default=0)
        if least <= several <= free_bytes // 2:
            return several
    return least


def stream_buffers(
    sets: ParameterSets,
    uses: Uses,
    keys: Iterable[SetKey],
    region: range,
    row_bytes: int,
    ahead: int,
    receives: Mapping[SetKey, int] | None = None,
) -> dict[SetKey, StreamBuffer]:
    """A place in ``region`` for each of ``keys``, in the order of their use. At most ``ahead`` of the instructions that
    receive them, one a set or as many as ``receives`` says, are on their way at once: more would fill the ring
    consumers' buffers and hold the instruction bus.
    """
    streaming = _by_use(uses, keys)
    sizes = np.array([sets.rows_bytes(key) for key in streaming], np.int64)
    rounds = Rounds([uses[key].start for key in streaming], [uses[key].stop for key in streaming])
    starts = _round(sizes, rounds, len(region))
    if starts is None:
        starts = _fitted(sizes, rounds, [key.title for key in streaming], len(region), row_bytes)
    buffers: dict[SetKey, StreamBuffer] = {}
    ready = 0
    issued: list[int] = []
    for place, (key, before) in enumerate(zip(streaming, _overlaps(starts, sizes), strict=True)):
        ready = max([ready, *(rounds.stop[other] for other in before)])
        issued += [place] * (receives or {}).get(key, 1)
        if len(issued) > ahead:
            ready = max(ready, min(rounds.start[issued[-1 - ahead]] + 1, rounds.start[place]))
        replaces = tuple(streaming[other] for other in before)
        buffers[key] = StreamBuffer(region.start + int(starts[place]), ready, replaces)
    return buffers


def _by_use(uses: Uses, keys: Iterable[SetKey]) -> list[SetKey]:
    return sorted(keys, key=lambda key: (uses[key].start, key))


def _round(sizes: Integers, rounds: Rounds, capacity: int) -> Integers | None:
    """An address for each set, directly behind the one before it and round again: so they can come as far ahead as
    there is room. None if one would still be in use there.
    """
    starts = np.zeros_like(sizes)
    end = 0
    for place, size in enumerate(sizes.tolist()):
        starts[place] = end if end + size <= capacity else 0
        end = int(starts[place]) + size
        if end > capacity:
            return None
    used = (
        rounds.stop[other] > first
        for first, others in zip(rounds.start, _overlaps(starts, sizes), strict=True)
        for other in others
    )
    return None if any(used) else starts


def _fitted(sizes: Integers, rounds: Rounds, titles: Sequence[str], capacity: int, row_bytes: int) -> Integers:
    """An address for each set, by lifetime."""
    each = zip(sizes.tolist(), rounds.start, rounds.stop, titles, strict=True)
    lives = [Lifetime(size, start, stop - 1, title) for size, start, stop, title in each]
    return np.array(allocate(lives, capacity, row_bytes), np.int64)


def _overlaps(starts: Integers, sizes: Integers) -> Iterator[list[int]]:
    """For each set, those before it in the order of their use whose places share bytes with its own."""
    ends = starts + sizes
    for place in range(len(starts)):
        shared = (starts[:place] < ends[place]) & (starts[place] < ends[:place])
        yield np.flatnonzero(shared).tolist()
