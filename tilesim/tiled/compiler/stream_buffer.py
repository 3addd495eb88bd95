"""Places for parameters that don't stay, in an area of wide memory through which they stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from tilesim.lowering.allocation import Lifetime, allocate
from tilesim.tiled.compiler.parameter_sets import ParameterSets, SetKey
from tilesim.tiled.compiler.wide_layout import StreamSlot

Uses = Mapping[SetKey, range]
"""From which round of tensorops to which a set is used."""

Sizes = Mapping[SetKey, int]
"""Bytes of each set."""


def least_bytes(sets: ParameterSets, uses: Uses) -> int:
    """An area must have room for all that any one round needs."""
    live: dict[int, int] = {}
    for key, rounds in uses.items():
        for now in rounds:
            live[now] = live.get(now, 0) + sets.size_bytes(key)
    return max(live.values(), default=0)


def area_bytes(sets: ParameterSets, uses: Uses, free_bytes: int) -> int:
    """Bytes through which all sets could stream: the least, or, so that one can come while the one before is in use,
    any two that follow each other, if that leaves half of the memory to what stays.
    """
    least = least_bytes(sets, uses)
    sizes = [sets.size_bytes(key) for key in _by_use(uses, uses)]
    two = max((a + b for a, b in pairwise(sizes)), default=0)
    return two if least <= two <= free_bytes // 2 else least


def stream_slots(
    sets: ParameterSets, uses: Uses, keys: Iterable[SetKey], area: range, row_bytes: int, ahead: int
) -> dict[SetKey, StreamSlot]:
    """A place in ``area`` for each of ``keys``, in the order of their use. At most ``ahead`` of them are on their way
    at once: more would fill the ring consumers' buffers and hold the instruction bus.

    Raises:
        DoesNotFit: one of them finds none.
    """
    streaming = _by_use(uses, keys)
    sizes = {key: sets.size_bytes(key) for key in streaming}
    addresses = _round(sizes, uses, streaming, len(area)) or _fitted(sizes, uses, streaming, len(area), row_bytes)
    slots: dict[SetKey, StreamSlot] = {}
    ready = 0
    for place, key in enumerate(streaming):
        before = tuple(other for other in slots if _overlap(sizes, addresses, key, other))
        ready = max([ready, *(uses[other].stop for other in before)])
        if place >= ahead:
            ready = max(ready, min(uses[streaming[place - ahead]].start + 1, uses[key].start))
        slots[key] = StreamSlot(area.start + addresses[key], ready, before)
    return slots


def _by_use(uses: Uses, keys: Iterable[SetKey]) -> list[SetKey]:
    return sorted(keys, key=lambda key: (uses[key].start, key))


def _round(sizes: Sizes, uses: Uses, keys: Sequence[SetKey], area: int) -> dict[SetKey, int] | None:
    """An address for each set, directly behind the one before it and round again: so they can come as far ahead as
    there is room. None if one would still be in use there.
    """
    addresses: dict[SetKey, int] = {}
    end = 0
    for key in keys:
        size = sizes[key]
        addresses[key] = end if end + size <= area else 0
        end = addresses[key] + size
        before = (other for other in addresses if other != key and _overlap(sizes, addresses, key, other))
        if end > area or any(uses[other].stop > uses[key].start for other in before):
            return None
    return addresses


def _fitted(sizes: Sizes, uses: Uses, keys: Sequence[SetKey], area: int, row_bytes: int) -> dict[SetKey, int]:
    """An address for each set, by lifetime."""
    lives = [Lifetime(sizes[key], uses[key].start, uses[key].stop - 1, key.title) for key in keys]
    return dict(zip(keys, allocate(lives, area, row_bytes), strict=True))


def _overlap(sizes: Sizes, addresses: Mapping[SetKey, int], a: SetKey, b: SetKey) -> bool:
    return addresses[a] < addresses[b] + sizes[b] and addresses[b] < addresses[a] + sizes[a]
