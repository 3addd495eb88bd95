"""Which instructions touch the same bytes, and which may wait for one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import TypeAlias

from tilesim.tiled.dataflow.read_out import NOTHING, ReadOut
from tilesim.tiled.isa.model.fields import Flag, MemoryName
from tilesim.tiled.isa.model.instructions import (
    Instruction,
    TensorOp,
    Work,
    counted_nest,
    increments,
    raised_flag,
)
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.rules.tile.footprint import Footprint, footprints
from tilesim.tiled.topology import Topology

Touched: TypeAlias = tuple[bool, int, int]
"""Whether it is written, and the bytes that it lies between; wide memory begins at :data:`WIDE`."""
WIDE = 1 << 40


class Traits:
    """What is asked of an instruction for an engine of a tile again and again."""

    def __init__(self, op: Work, topology: Topology) -> None:
        self.op = op
        self._topology = topology
        self.rounds = _rounds(op)
        """How many iterations its flag may count."""
        self.rises_early = increments(op) > 1
        """Whether its flag rises before it retires."""

    @cached_property
    def touched(self) -> Sequence[Touched]:
        """What it touches, operand by operand."""
        begins = ((each, WIDE if each.memory == MemoryName.WIDE else 0) for each in self.footprints)
        return [(each.writes, begin + each.first, begin + each.end) for each, begin in begins]

    @cached_property
    def footprints(self) -> Sequence[Footprint]:
        """The same in detail."""
        return [*footprints(self.op, self._topology)]

    @cached_property
    def raises(self) -> Flag:
        return raised_flag(self.op)

    @cached_property
    def watches(self) -> frozenset[Flag]:
        return frozenset(watcher.flag for watcher in self.op.wait)

    @cached_property
    def is_held(self) -> bool:
        """Whether flags hold its loops."""
        return any(watcher.loop is not None for watcher in self.op.wait)


class Meetings:
    """The instructions of a program, by their places in load and run, and what is read out when some have retired."""

    def __init__(self, ops: Sequence[Instruction], topology: Topology, read_out: ReadOut = NOTHING) -> None:
        self._ops = ops
        self._topology = topology
        self.read_out = read_out
        self._traits: dict[int, Traits] = {}
        self._clashes: dict[int, dict[int, bool]] = defaultdict(dict)

    def traits(self, place: int) -> Traits:
        traits = self._traits.get(place)
        if traits is None:
            traits = self._traits[place] = Traits(self._ops[place], self._topology)  # type: ignore[arg-type]
        return traits

    def clash(self, one: int, other: int) -> bool:
        """Whether two of them touch some byte, or what is read out after them, at least one of them writing; an
        instruction is in its own way.
        """
        known = self._clashes[one].get(other)
        if known is None:
            known = one == other or self._meet(self.traits(one), self.traits(other))
            if self.read_out:
                known = known or self.disturbs(one, other) or self.disturbs(other, one)
            self._clashes[one][other] = self._clashes[other][one] = known
        return known

    def disturbs(self, one: int, other: int) -> bool:
        """Whether one of them writes what is read out when the other has retired."""
        return any(
            standing.meets(self.traits(one).footprints[k])
            for standing in self.read_out.get(other, ())
            for k, (writes, first, end) in enumerate(self.traits(one).touched)
            if writes and first < standing.end and standing.first < end
        )

    def _meet(self, one: Traits, other: Traits) -> bool:
        for k, (writes, first, end) in enumerate(one.touched):
            for j, (other_writes, other_first, other_end) in enumerate(other.touched):
                near = first < other_end and other_first < end and (writes or other_writes)
                if near and one.footprints[k].clashes(other.footprints[j]):
                    return True
        return False


def _rounds(op: Work) -> int:
    if isinstance(op, TensorOp):  # result groups
        return prod([loop.bound for loop in op.nest.loops[:-1] if loop.name not in op.reduce])
    return iterations(counted_nest(op))
