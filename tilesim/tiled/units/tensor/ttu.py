"""The tensor traversal unit: loop counters in, addresses out.

A TTU keeps one counter a loop; all counters that roll over do so in the same cycle, and one address leaves a cycle.
In the adder form each counter holds an already multiplied number, which grows by a step, and an address is the base
plus a sum of counters. In the multiplier form it holds an index, which a multiplier turns into an offset on its way.

Source: US 19/025,090 [0038]-[0041], [0047]; US 9,875,100 (claim 1) for the multiplier form; US 10,248,908 (abstract)
for the alternate limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.isa.model.fields import Nest, Reference
from tilesim.tiled.isa.model.nests import iterations
from tilesim.tiled.topology import Tile

Indices = NDArray[np.int64]


def stepped(bound: int, stride: int) -> Indices:
    """What a loop adds to the address, each time, in the adder form: a counter that begins at 0 and grows by a step."""
    counter = np.full(bound, stride, np.int64)
    counter[0] = 0
    return np.add.accumulate(counter)


def multiplied(bound: int, stride: int) -> Indices:
    """What a loop adds to the address, each time, in the multiplier form: the index times the multiplier."""
    return np.arange(bound, dtype=np.int64) * stride


FORMS: Mapping[str, Callable[[int, int], Indices]] = {"adder": stepped, "multiplier": multiplied}
"""How a loop's part of the address comes about, by the name that a topology has for it."""


def addresses(nest: Nest, reference: Reference, form: str = "adder") -> Indices:
    """The address stream of ``reference``, in the nest's order, one int64 an iteration; both forms give the same."""
    strides = dict(reference.strides)
    grid = np.full((), reference.base, np.int64)
    for loop in nest.loops:
        grid = grid[..., None] + FORMS[form](loop.bound, strides.get(loop.name, 0))
    return grid[_runs(nest)] if nest.alternate else grid.reshape(-1)


@dataclass(frozen=True)
class TraversalForm:
    """How the TTUs of a tile are built.

    Timing: one address a cycle; a multiplier's products pass through ``tile.multiplier_cycles`` registers, so that the
    first address of each instruction comes as many cycles after the instruction, while flags may already be waited for;
    an adder's is there at once. Source: assumption.
    """

    tile: Tile

    @property
    def fill_cycles(self) -> int:
        """Cycles from an instruction to its first address."""
        return self.tile.multiplier_cycles if self.tile.traversal == "multiplier" else 0

    def addresses(self, nest: Nest, reference: Reference) -> Indices:
        """The address stream of ``reference``."""
        return addresses(nest, reference, self.tile.traversal)


def completions(nest: Nest, loop: str) -> Indices:
    """After how many iterations of the innermost body ``loop`` has completed, once for each time that it does."""
    return np.cumsum(_iterations_by(nest, _depth(nest, loop)))


def starts(nest: Nest, loop: str) -> Indices:
    """How many iterations of the innermost body come before each iteration of ``loop``."""
    counts = _iterations_by(nest, _depth(nest, loop) + 1)
    return np.cumsum(counts) - counts


def without(nest: Nest, names: tuple[str, ...]) -> Nest:
    """The nest without some of its loops, and without its alternate limit."""
    return Nest(tuple(loop for loop in nest.loops if loop.name not in names))


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
    return np.full(counts.size, iterations(replace(nest, loops=nest.loops[depth:])), np.int64)
