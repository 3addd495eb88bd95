"""What a pipe tells a port of its accesses: loops over what :mod:`~tilesim.sim.kernel` logs, imported late as well."""

from __future__ import annotations

import numpy as np

from tilesim.compiled import compiled
from tilesim.sim.addresses import array_at
from tilesim.sim.kernel import GOES, Words


@compiled
def accesses(log: Words, spans: int, writes: bool, found: Words) -> int:
    """The accesses, as intervals, of either stage: how many have been put into ``found``."""
    n = 0
    for k in range(spans):
        code = log[2, k]
        stage, access = ((code >> 2) & 3, code & 1) if writes else (code >> 4, (code >> 1) & 1)
        if stage != GOES or not access:
            continue
        if n and found[1, n - 1] == log[0, k]:
            found[1, n - 1] = log[1, k]
        else:
            found[0, n], found[1, n] = log[0, k], log[1, k]
            n += 1
    return n


@compiled
def news(found: Words, n: int, place: int, cycle: int) -> int:
    """What is new in that, if it replaces what lies at ``place`` from ``cycle`` on: 0: nothing, 1: more, 2: another."""
    told = array_at(place, 3)
    if not told[2]:
        return 1 if n else 0
    starts, ends = array_at(told[0], told[2]), array_at(told[1], told[2])
    first = np.searchsorted(ends, cycle, "right")
    before = told[2] - first
    if before > n:
        return 2
    for k in range(before):
        if max(starts[first + k], cycle) != found[0, k]:
            return 2
        last = k == before - 1
        if ends[first + k] > found[1, k] or (ends[first + k] != found[1, k] and not last):
            return 2
    return 0 if before == n and (not n or ends[told[2] - 1] == found[1, n - 1]) else 1
