"""Arithmetic on loop nests that needs no walk through them: how often they run, and which bytes they touch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

from tilesim.tiled.isa.model.fields import Nest, Reference


@dataclass(frozen=True)
class Block:
    """A part of a nest that is a full box: the first and last counter of each loop."""

    counters: dict[str, tuple[int, int]]
    innermost: int
    """How often the innermost loop runs."""


def blocks(nest: Nest) -> Iterator[Block]:
    """The boxes that a nest with sound loops is made of: one, or two with an alternate limit."""
    counters = {loop.name: (0, loop.bound - 1) for loop in nest.loops}
    innermost = nest.loops[-1].bound if nest.loops else 1
    if not nest.alternate:
        yield Block(counters, innermost)
        return
    alternate, last = nest.alternate, counters[nest.alternate.loop][1]
    if last:
        yield Block({**counters, alternate.loop: (0, last - 1)}, innermost)
    short = {alternate.loop: (last, last), nest.loops[-1].name: (0, alternate.limit - 1)}
    yield Block({**counters, **short}, alternate.limit)


def iterations(nest: Nest) -> int:
    """How often the innermost body of a nest with sound loops runs."""
    whole = prod([loop.bound for loop in nest.loops])
    if nest.alternate is None:
        return whole
    alternate, most = nest.alternate, nest.loops[-1].bound
    rounds = next(loop.bound for loop in nest.loops if loop.name == alternate.loop)
    return whole - whole // (rounds * most) * (most - alternate.limit)


def span(block: Block, reference: Reference, moving: frozenset[str]) -> tuple[int, int]:
    """The smallest and the largest address; only the loops in ``moving`` move it."""
    moves = [
        (block.counters[loop][0] * stride, block.counters[loop][1] * stride)
        for loop, stride in reference.strides
        if loop in moving
    ]
    return reference.base + sum(map(min, moves)), reference.base + sum(map(max, moves))


def straddles(
    nest: Nest, reference: Reference, moving: frozenset[str], size_bytes: Callable[[int], int], row_bytes: int
) -> bool:
    """Whether an access of ``size_bytes`` (of the innermost iterations) anywhere in the nest crosses a row's end."""
    return any(
        _offsets(block, reference, moving, row_bytes) >> max(0, row_bytes - size_bytes(block.innermost) + 1)
        for block in blocks(nest)
    )


def _offsets(block: Block, reference: Reference, moving: frozenset[str], row_bytes: int) -> int:
    """Every offset within a row that the address takes, as a bitmap."""
    offsets = 1 << reference.base % row_bytes
    for loop, stride in reference.strides:
        first, last = block.counters[loop] if loop in moving else (0, 0)
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
