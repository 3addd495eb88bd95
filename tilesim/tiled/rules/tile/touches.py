"""In which of its rounds an instruction touches what: for each piece of a memory the first and the last of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from math import gcd, prod
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from tilesim.tiled.isa.model.accesses import size_bytes
from tilesim.tiled.isa.model.fields import Nest
from tilesim.tiled.isa.model.instructions import TensorOp, Work
from tilesim.tiled.isa.model.loops import Domain, domains, iterations
from tilesim.tiled.rules.tile.firing_conditions import round_nest
from tilesim.tiled.rules.tile.footprint import Footprint

Rounds: TypeAlias = NDArray[np.int64]
"""A round for each piece of memory, -1 where there is none."""

MOST_TOUCHES = 1 << 22
"""Touches of an operand that are looked at one by one."""


class _Box(Struct, frozen=True):
    """Accesses of ``size`` bytes: each loop (iterations, stride, turns) moves on by so many bytes and turns; the first
    is at ``base``, in the turn ``turn``.
    """

    base: int
    size: int
    turn: int
    loops: tuple[tuple[int, int, int], ...]

    @property
    def accesses(self) -> int:
        return prod(bound for bound, _, _ in self.loops)

    def all(self, unit: int) -> tuple[Rounds, Rounds]:
        """Every piece of ``unit`` bytes that is touched, and the turn."""
        pieces = np.arange(self.base // unit, (self.base + self.size) // unit)
        turns = np.full_like(pieces, self.turn)
        for bound, stride, step in self.loops:
            k = np.arange(bound)[:, None]
            pieces, turns = (pieces + k * (stride // unit)).reshape(-1), (turns + k * step).reshape(-1)
        return pieces, turns

    def backwards(self, turns: int) -> _Box:
        """The same accesses, the last of ``turns`` first."""
        back = sum((bound - 1) * stride for bound, stride, _ in self.loops)
        last = self.turn + sum((bound - 1) * step for bound, _, step in self.loops)
        loops = tuple((bound, -stride, step) for bound, stride, step in self.loops)
        return _Box(self.base + back, self.size, turns - 1 - last, loops)

    def last(self, unit: int) -> tuple[int, Rounds]:
        """The lowest address, and the last turn in which each piece of ``unit`` bytes from there on is touched."""
        turns, low = np.full(self.size // unit, self.turn, np.int64), self.base
        for bound, stride, step in reversed(self.loops):
            turns = _repeated(turns, stride // unit, step, bound)
            low += min(0, (bound - 1) * stride)
        return low, turns


class Use(Struct, frozen=True, eq=False, dict=True):
    """What the ``place``-th operand of ``op`` touches, round by round."""

    op: Work
    place: int
    footprint: Footprint
    _lasts: dict[int, Rounds] = field(default_factory=dict)
    _firsts: dict[int, Rounds] = field(default_factory=dict)

    @cached_property
    def shape(self) -> Hashable:
        """All but where it begins: those of one shape touch the same pieces in the same rounds, from there."""
        access = self.footprint.access
        return access.operand, access.nest, access.reference.strides, access.moving, access.sizes, round_nest(self.op)

    @cached_property
    def rounds(self) -> int:
        return iterations(round_nest(self.op))

    @cached_property
    def unit(self) -> int:
        """The bytes of the largest pieces that are all touched as a whole, or not at all."""
        moves = (stride for box in self._boxes for _, stride, _ in box.loops)
        return gcd(*moves, *(part for box in self._boxes for part in (box.base, box.size)))

    def last(self, unit: int, low: int, end: int) -> Rounds:
        """The last round that touches each piece of ``unit`` bytes between two addresses of its extent."""
        if unit not in self._lasts:
            self._lasts[unit] = self._last(self._boxes, unit) // self._accesses_per_round
        return self._between(self._lasts[unit], unit, low, end)

    def first(self, unit: int, low: int, end: int) -> Rounds:
        """The first one."""
        if unit not in self._firsts:
            turns = iterations(self._turns)
            left = self._last([box.backwards(turns) for box in self._boxes], unit)
            self._firsts[unit] = np.where(left < 0, -1, (turns - 1 - left) // self._accesses_per_round)
        return self._between(self._firsts[unit], unit, low, end)

    def all(self, unit: int, low: int, end: int) -> tuple[Rounds, Rounds] | None:
        """Every piece between two addresses that is touched, and the round; None if there are too many."""
        if sum(box.accesses * box.size // unit for box in self._boxes) > MOST_TOUCHES:
            return None
        pieces, turns = map(np.concatenate, zip(*(box.all(unit) for box in self._boxes), strict=True))
        inside = (pieces >= low // unit) & (pieces < end // unit)
        return pieces[inside], turns[inside] // self._accesses_per_round

    @cached_property
    def _turns(self) -> Nest:
        """The loops that count: of a DMA the operand's own, which may make several accesses a round."""
        return round_nest(self.op) if isinstance(self.op, TensorOp) else self.footprint.access.nest

    @cached_property
    def _accesses_per_round(self) -> int:
        return iterations(self._turns) // self.rounds

    def _last(self, boxes: Sequence[_Box], unit: int) -> Rounds:
        first, last = self.footprint.extent
        latest = np.full((last - first) // unit, -1, np.int64)
        for box in boxes:
            start, turns = box.last(unit)
            part = latest[(start - first) // unit :][: len(turns)]
            np.maximum(part, turns, out=part)
        return latest

    def _between(self, rounds: Rounds, unit: int, low: int, end: int) -> Rounds:
        first = self.footprint.first
        return rounds[(low - first) // unit : (end - first) // unit]

    @cached_property
    def _boxes(self) -> Sequence[_Box]:
        return [self._box(domain) for domain in domains(self.footprint.access.nest)]

    def _box(self, domain: Domain) -> _Box:
        access = self.footprint.access
        strides = {loop: stride for loop, stride in access.reference.strides if loop in access.moving}
        base, turn, loops = access.reference.base, 0, []
        for name, (start, last) in domain.counters.items():
            stride, step = strides.get(name, 0), _turns_of(self._turns, name, domain)
            base, turn = base + start * stride, turn + start * step
            if last > start:
                loops.append((last - start + 1, stride, step))
        return _Box(base, size_bytes(access, self.footprint.topology, domain.innermost), turn, tuple(loops))


def common_unit(one: Use, other: Use) -> int:
    """The bytes of pieces that both of them touch as a whole, or not at all."""
    return gcd(one.unit, other.unit)


def _turns_of(nest: Nest, name: str, domain: Domain) -> int:
    """How many iterations of the innermost body go by in one of a loop; none, if the nest hasn't got it."""
    names = [loop.name for loop in nest.loops]
    if name not in names:
        return 0
    inner = nest.loops[names.index(name) + 1 :]
    alternate = nest.alternate
    if alternate is None or alternate.loop == name:
        return prod(loop.bound for loop in inner)
    if any(loop.name == alternate.loop for loop in inner):
        return iterations(Nest(inner, alternate))
    return prod(loop.bound for loop in inner[:-1]) * domain.innermost if inner else 1


def _repeated(turns: Rounds, stride: int, step: int, count: int) -> Rounds:
    """``turns`` so many times, each ``stride`` pieces and ``step`` turns further on: the last one of each piece."""
    if stride < 0:
        return _repeated(turns[::-1], -stride, step, count)[::-1]
    if stride == 0:
        return np.where(turns < 0, -1, turns + (count - 1) * step)
    covered = 1
    while covered < count:  # doubling: what k repetitions touch, moved on, is what the next k touch
        more = min(covered, count - covered)
        longer = np.full(len(turns) + more * stride, -1, np.int64)
        longer[more * stride :] = np.where(turns < 0, -1, turns + more * step)
        np.maximum(longer[: len(turns)], turns, out=longer[: len(turns)])
        turns, covered = longer, covered + more
    return turns
