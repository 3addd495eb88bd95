"""The region of wide memory through which sets of parameters stream: how large it is, and which set lies where when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilesim.lowering.allocation import Lifetime, allocate
from tilesim.tiled.compiler.parameters import ParameterSets, SetKey
from tilesim.tiled.compiler.wide_layout import StreamBuffer

Uses = Mapping[SetKey, range]
"""From which round of tensorops to which a set is used."""

Sizes = Mapping[SetKey, int]
"""Bytes of each set."""


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
    sizes = {key: sets.rows_bytes(key) for key in streaming}
    addresses = _round(sizes, uses, streaming, len(region)) or _fitted(sizes, uses, streaming, len(region), row_bytes)
    buffers: dict[SetKey, StreamBuffer] = {}
    ready = 0
    issued: list[SetKey] = []
    for key in streaming:
        before = tuple(other for other in buffers if _overlap(sizes, addresses, key, other))
        ready = max([ready, *(uses[other].stop for other in before)])
        issued += [key] * (receives or {}).get(key, 1)
        if len(issued) > ahead:
            ready = max(ready, min(uses[issued[-1 - ahead]].start + 1, uses[key].start))
        buffers[key] = StreamBuffer(region.start + addresses[key], ready, before)
    return buffers


def _by_use(uses: Uses, keys: Iterable[SetKey]) -> list[SetKey]:
    return sorted(keys, key=lambda key: (uses[key].start, key))


def _round(sizes: Sizes, uses: Uses, keys: Sequence[SetKey], capacity: int) -> dict[SetKey, int] | None:
    """An address for each set, directly behind the one before it and round again: so they can come as far ahead as
    there is room. None if one would still be in use there.
    """
    addresses: dict[SetKey, int] = {}
    end = 0
    for key in keys:
        size = sizes[key]
        addresses[key] = end if end + size <= capacity else 0
        end = addresses[key] + size
        before = (other for other in addresses if other != key and _overlap(sizes, addresses, key, other))
        if end > capacity or any(uses[other].stop > uses[key].start for other in before):
            return None
    return addresses


def _fitted(sizes: Sizes, uses: Uses, keys: Sequence[SetKey], capacity: int, row_bytes: int) -> dict[SetKey, int]:
    """An address for each set, by lifetime."""
    lives = [Lifetime(sizes[key], uses[key].start, uses[key].stop - 1, key.title) for key in keys]
    return dict(zip(keys, allocate(lives, capacity, row_bytes), strict=True))


def _overlap(sizes: Sizes, addresses: Mapping[SetKey, int], a: SetKey, b: SetKey) -> bool:
    return addresses[a] < addresses[b] + sizes[b] and addresses[b] < addresses[a] + sizes[a]
