"""Which instructions touch the same bytes, and which may wait for one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import (
    Instruction,
    TensorOp,
    Work,
    counted_nest,
    increments,
    raised_flag,
)
from tilesim.tiled.isa.model.loops import iterations, without
from tilesim.tiled.rules.tile.footprint import Footprint, footprints
from tilesim.tiled.topology import Topology

Touched: TypeAlias = tuple[str, bool, int, int, Footprint]


class Traits:
    """What is asked of an instruction for an engine of a tile again and again."""

    def __init__(self, op: Work, topology: Topology) -> None:
        self.op = op
        self._topology = topology

    @cached_property
    def touched(self) -> Sequence[Touched]:
        """What it touches, operand by operand."""
        return [(each.memory, each.writes, *each.extent, each) for each in footprints(self.op, self._topology)]

    @cached_property
    def rounds(self) -> int:
        """How many iterations its flag may count."""
        if isinstance(self.op, TensorOp):  # result groups
            return iterations(without(self.op.nest, (*self.op.reduce, self.op.nest.loops[-1].name)))
        return iterations(counted_nest(self.op))

    @cached_property
    def rises_early(self) -> bool:
        """Whether its flag rises before it retires."""
        return increments(self.op) > 1

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
    """The instructions of a program, by their places in load and run."""

    def __init__(self, ops: Sequence[Instruction], topology: Topology) -> None:
        self._ops = ops
        self._topology = topology
        self._traits: dict[int, Traits] = {}
        self._clashes: dict[int, dict[int, bool]] = defaultdict(dict)

    def traits(self, place: int) -> Traits:
        traits = self._traits.get(place)
        if traits is None:
            traits = self._traits[place] = Traits(self._ops[place], self._topology)  # type: ignore[arg-type]
        return traits

    def clash(self, one: int, other: int) -> bool:
        """Whether two of them touch some byte, at least one of them writing; an instruction is in its own way."""
        known = self._clashes[one].get(other)
        if known is None:
            known = one == other or self._meet(self.traits(one).touched, self.traits(other).touched)
            self._clashes[one][other] = self._clashes[other][one] = known
        return known

    def _meet(self, some: Sequence[Touched], others: Sequence[Touched]) -> bool:
        for memory, writes, first, end, footprint in some:
            for other_memory, other_writes, other_first, other_end, other in others:
                if (
                    first < other_end
                    and other_first < end
                    and (writes or other_writes)
                    and memory == other_memory
                    and footprint.clashes(other)
                ):
                    return True
        return False
