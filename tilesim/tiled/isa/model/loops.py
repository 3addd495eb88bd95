"""Arithmetic on loop nests: how often they run, which bytes they touch, what their watchers and producers count.

What hardware makes of it, and when, is in :mod:`tilesim.tiled.units`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.isa.model.fields import Flag, Nest, Reference, Watcher

Indices = NDArray[np.int64]

KEPT = 1024
"""How many answers to a question about instructions are kept, which come again for each tile."""


@dataclass(frozen=True)
class Gate:
    """Groups of a nest's iterations from ``group`` on wait until ``flag`` has counted to ``expected``."""

    group: int
    flag: Flag
    expected: int


@dataclass(frozen=True)
class Domain:
    """A part of a nest that is a full box: the first and last counter of each loop."""

    counters: dict[str, tuple[int, int]]
    innermost: int
    """How often the innermost loop runs."""


def domains(nest: Nest) -> Iterator[Domain]:
    """The boxes that a nest with sound loops is made of: one, or two with an alternate limit."""
    counters = {loop.name: (0, loop.bound - 1) for loop in nest.loops}
    innermost = nest.loops[-1].bound if nest.loops else 1
    if not nest.alternate:
        yield Domain(counters, innermost)
        return
    alternate, last = nest.alternate, counters[nest.alternate.loop][1]
    if last:
        yield Domain({**counters, alternate.loop: (0, last - 1)}, innermost)
    short = {alternate.loop: (last, last), nest.loops[-1].name: (0, alternate.limit - 1)}
    yield Domain({**counters, **short}, alternate.limit)


def iterations(nest: Nest) -> int:
    """How often the innermost body of a nest with sound loops runs."""
    whole = prod([loop.bound for loop in nest.loops])
    if nest.alternate is None:
        return whole
    alternate, most = nest.alternate, nest.loops[-1].bound
    rounds = next(loop.bound for loop in nest.loops if loop.name == alternate.loop)
    return whole - whole // (rounds * most) * (most - alternate.limit)


def rounds_of(nest: Nest, name: str) -> int:
    """How many rounds a loop of a nest makes in all."""
    if name == nest.loops[-1].name:
        return iterations(nest)  # the one that an alternate limit shortens
    return prod(loop.bound for loop in nest.loops[: _depth(nest, name) + 1])


def span(domain: Domain, reference: Reference, moving: frozenset[str]) -> tuple[int, int]:
    """The smallest and the largest address; only the loops in ``moving`` move it."""
    moves = [
        (domain.counters[loop][0] * stride, domain.counters[loop][1] * stride)
        for loop, stride in reference.strides
        if loop in moving
    ]
    return reference.base + sum(map(min, moves)), reference.base + sum(map(max, moves))


def straddles(
    nest: Nest, reference: Reference, moving: frozenset[str], size_bytes: Callable[[int], int], row_bytes: int
) -> bool:
    """Whether an access of ``size_bytes`` (of the innermost iterations) anywhere in the nest crosses a row's end."""
    return any(
        _offsets(domain, reference, moving, row_bytes) >> max(0, row_bytes - size_bytes(domain.innermost) + 1)
        for domain in domains(nest)
    )


def _offsets(domain: Domain, reference: Reference, moving: frozenset[str], row_bytes: int) -> int:
    """Every offset within a row that the address takes, as a bitmap."""
    offsets = 1 << reference.base % row_bytes
    for loop, stride in reference.strides:
        first, last = domain.counters[loop] if loop in moving else (0, 0)
        offsets = _rotated(offsets, first * stride, row_bytes)
        covered, bound = 1, last - first + 1
        while covered < bound:  # doubling: what k iterations reach, rotated, is what the next k reach
            more = min(covered, bound - covered)
            offsets |= _rotated(offsets, more * stride, row_bytes)
            covered += more
    return offsets


def _rotated(bitmap: int, distance: int, width: int) -> int:
    distance %= width
    return (bitmap << distance | bitmap >> (width - distance)) & ((1 << width) - 1)


def multiplied(bound: int, stride: int) -> Indices:
    """What a loop adds to the address, each time: its index times the stride."""
    return np.arange(bound, dtype=np.int64) * stride


def addresses(nest: Nest, reference: Reference, offsets: Callable[[int, int], Indices] = multiplied) -> Indices:
    """The address stream of ``reference``, in the nest's order, one int64 an iteration; ``offsets`` makes what a loop
    of so many iterations, and such a stride, adds.
    """
    strides = dict(reference.strides)
    grid = np.full((), reference.base, np.int64)
    for loop in nest.loops:
        grid = grid[..., None] + offsets(loop.bound, strides.get(loop.name, 0))
    return grid[_runs(nest)] if nest.alternate else grid.reshape(-1)


def without(nest: Nest, names: tuple[str, ...]) -> Nest:
    """The nest without some of its loops, and without its alternate limit."""
    return Nest(tuple(loop for loop in nest.loops if loop.name not in names))


def starts(nest: Nest, loop: str) -> Indices:
    """How many iterations of the innermost body come before each iteration of ``loop``."""
    counts = _iterations_by(nest, _depth(nest, loop) + 1)
    return np.cumsum(counts) - counts


def completions(nest: Nest, loop: str | None, groups: int = 1) -> Sequence[int]:
    """After how many groups, of which each iteration of the innermost body makes so many, ``loop`` has completed, once
    for each time that it does; without a loop never.
    """
    return () if loop is None else _completions(nest, loop, groups)


@lru_cache(KEPT)
def _completions(nest: Nest, loop: str, groups: int) -> Sequence[int]:
    return tuple((np.cumsum(_iterations_by(nest, _depth(nest, loop))) * groups).tolist())


def gates(nest: Nest, watchers: tuple[Watcher, ...], groups: int = 1) -> Sequence[Gate]:
    """Where the iterations of a nest, of so many ``groups`` each, stall for watchers of its loops, in order."""
    return _gates(nest, watchers, groups) if watchers else ()


@lru_cache(KEPT)
def _gates(nest: Nest, watchers: tuple[Watcher, ...], groups: int) -> Sequence[Gate]:
    gates = [
        Gate(int(start) * groups, watcher.flag, watcher.expected + k * watcher.stride)
        for watcher in watchers
        if watcher.loop is not None
        for k, start in enumerate(starts(nest, watcher.loop))
    ]
    return tuple(sorted(gates, key=lambda gate: gate.group))


def _depth(nest: Nest, name: str) -> int:
    return [loop.name for loop in nest.loops].index(name)


def _runs(nest: Nest) -> NDArray[np.bool_]:
    """Which points of the full grid the alternate limit lets run."""
    assert nest.alternate is not None
    mask = np.ones([loop.bound for loop in nest.loops], bool)
    at = _depth(nest, nest.alternate.loop)
    last = (slice(None),) * at + (-1,)
    mask[(*last, ..., slice(nest.alternate.limit, None))] = False
    return mask


def _iterations_by(nest: Nest, depth: int) -> Indices:
    """Innermost iterations in each combined iteration of the ``depth`` outermost loops."""
    if depth == len(nest.loops):
        return np.ones(iterations(nest), np.int64)
    outer = [loop.bound for loop in nest.loops[:depth]]
    inner = prod(loop.bound for loop in nest.loops[depth:])
    counts = np.full(outer, inner, np.int64)
    if nest.alternate is None:
        return counts.reshape(-1)
    at = _depth(nest, nest.alternate.loop)
    if at < depth:
        counts[(slice(None),) * at + (-1,)] = inner // nest.loops[-1].bound * nest.alternate.limit
        return counts.reshape(-1)
    return np.full(counts.size, iterations(nest._replace(loops=nest.loops[depth:])), np.int64)
