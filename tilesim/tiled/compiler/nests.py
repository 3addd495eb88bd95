"""Tensorops whose nests are deeper than the tiles' counters: loops that are one are folded, others are unrolled.

What is computed, and when each flag has been raised how often, stays the same. Reductions stay whole: a result is made
in one tensorop. So no more can be asked for than their loops and the lanes: four, with a kernel's rows and columns and
its channels; three where columns and channels fold, or for layers that work byte by byte; two for a kernel of one
position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Any

from tilesim.tiled.isa.model.fields import Loop, Nest, Reference, Watcher
from tilesim.tiled.isa.model.instructions import TensorOp
from tilesim.tiled.isa.model.loops import rounds_of

OPERANDS = ("input", "input_b", "weights", "parameters", "sums_in", "sums_out", "output")
"""The fields of a tensorop that hold references."""


def no_deeper(op: TensorOp, depth: int) -> list[TensorOp]:
    """Tensorops that do together what ``op`` does, none with more than ``depth`` loops if its reductions allow that."""
    if len(op.nest.loops) <= depth:
        return [op]
    op = _folded(op, depth)
    ops = [op]
    for name in _unrolled(op, len(op.nest.loops) - depth):
        ops = [each for part in ops for each in _rounds(part, name)]
    return ops


def _unrolled(op: TensorOp, excess: int) -> tuple[str, ...]:
    """So many loops, outermost first, that it takes the fewest tensorops: the outermost ones, or such as lie inside all
    that a watcher names.
    """
    free = [loop for loop in op.nest.loops[:-1] if loop.name not in op.reduce]
    names = [loop.name for loop in op.nest.loops]
    watched = max((names.index(watcher.loop) for watcher in op.wait if watcher.loop), default=-1)
    choices = combinations(range(len(free)), min(max(excess, 0), len(free)))
    allowed = [some for some in choices if all(k > watched or some[: k + 1] == (*range(k + 1),) for k in some)]
    best = min(allowed, key=lambda some: (prod(free[k].bound for k in some), some))
    return tuple(free[k].name for k in best)


def _folded(op: TensorOp, depth: int) -> TensorOp:
    """With pairs of loops made one, from the innermost on, until no more than ``depth`` are left."""
    place = len(op.nest.loops) - 2
    while place > 0 and len(op.nest.loops) > depth:
        op = _as_one(op, place)
        place -= 1
    return op


def _as_one(op: TensorOp, place: int) -> TensorOp:
    """With the loop at a place and the one around it made one, if they step as one and nothing else names them."""
    outer, inner = op.nest.loops[place - 1 : place + 1]
    references = [reference for _, reference in _references(op)]
    named = {op.nest.alternate.loop} if op.nest.alternate else set()
    named |= {watcher.loop for watcher in op.wait if watcher.loop}
    if (
        {outer.name, inner.name} & named
        or op.produce == inner.name
        or (outer.name in op.reduce) != (inner.name in op.reduce)
        or any(_step(each, outer.name) != _step(each, inner.name) * inner.bound for each in references)
    ):
        return op
    loops = (*op.nest.loops[: place - 1], Loop(outer.name, outer.bound * inner.bound), *op.nest.loops[place + 1 :])
    steps = {name: _stepping(each, outer.name, _step(each, inner.name)) for name, each in _references(op)}
    folded = {name: _without(reference, inner.name) for name, reference in steps.items()}
    reduce = tuple(name for name in op.reduce if name != inner.name)
    return _with(op, folded, nest=op.nest._replace(loops=loops), reduce=reduce)


def _rounds(op: TensorOp, name: str) -> Iterator[TensorOp]:
    """Each round of a loop as a tensorop of its own, or, if it is not the outermost, all rounds with the same count."""
    place = next(k for k, loop in enumerate(op.nest.loops) if loop.name == name)
    return (_round(op, place, k) for k in range(op.nest.loops[place].bound))


def _round(op: TensorOp, place: int, k: int) -> TensorOp:
    loop, alternate = op.nest.loops[place], op.nest.alternate
    inner = op.nest.loops[place + 1 :]
    last = k == loop.bound - 1
    if alternate and alternate.loop == loop.name:
        inner = (*inner[:-1], inner[-1]._replace(bound=alternate.limit)) if last else inner
        alternate = None
    moved = {
        name: _without(reference._replace(base=reference.base + k * _step(reference, loop.name)), loop.name)
        for name, reference in _references(op)
    }
    produce = op.produce
    if produce in [outer.name for outer in op.nest.loops[: place + 1]]:
        produce = (inner[0].name if produce == loop.name else produce) if last else None
    nest = Nest((*op.nest.loops[:place], *inner), alternate)
    return _with(op, moved, nest=nest, wait=tuple(_waits(op, place, k)), produce=produce)


def _waits(op: TensorOp, place: int, k: int) -> Iterator[Watcher]:
    """What the ``k``-th waits for, beside what those before it have waited for."""
    loop = op.nest.loops[place]
    for watcher in op.wait:
        if watcher.loop is None or place:
            yield from () if k else (watcher,)
            continue
        rounds = rounds_of(op.nest, watcher.loop) // loop.bound
        inside = None if watcher.loop == loop.name else watcher.loop
        yield Watcher(
            watcher.flag, watcher.expected + k * rounds * watcher.stride, inside, watcher.stride if inside else 0
        )


def _references(op: TensorOp) -> Iterator[tuple[str, Reference]]:
    return ((name, reference) for name in OPERANDS if (reference := getattr(op, name)) is not None)


def _step(reference: Reference, loop: str) -> int:
    return dict(reference.strides).get(loop, 0)


def _stepping(reference: Reference, loop: str, stride: int) -> Reference:
    """With another stride for a loop that has one."""
    strides = ((name, stride if name == loop else step) for name, step in reference.strides)
    return reference._replace(strides=tuple(strides))


def _without(reference: Reference, loop: str) -> Reference:
    return reference._replace(strides=tuple(pair for pair in reference.strides if pair[0] != loop))


def _with(op: TensorOp, references: Mapping[str, Any], **fields: Any) -> TensorOp:
    return replace(op, **references, **fields)
