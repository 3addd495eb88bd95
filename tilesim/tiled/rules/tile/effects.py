"""What of an instruction is the same on all the tiles that it is for: the flag that it raises and how often, what it
waits for, and the bytes that it touches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

from tilesim.tiled.isa.model.fields import Engine, Flag, Watcher
from tilesim.tiled.isa.model.instructions import Instruction, TileFence, Work, counted_nest, increments, raised_flag
from tilesim.tiled.isa.model.likeness import Kinds
from tilesim.tiled.isa.model.loops import rounds_of
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.firing_conditions import FiringConditions, own_conditions
from tilesim.tiled.rules.tile.footprint import footprints
from tilesim.tiled.rules.tile.touches import Use
from tilesim.tiled.topology import Topology

PAGE_BYTES = 4096
"""Instructions that touch no page both have no byte in common."""

Page: TypeAlias = tuple[str, int, bool]
"""A part of a memory, by number, and whether it is written."""


class WatchedCounts(Struct, frozen=True):
    """A watcher, and the counts that it waits for in the first round of its loop and at most."""

    watcher: Watcher
    first: int
    last: int


class Touched(Struct, frozen=True, eq=False, dict=True):
    """What instructions that are alike do: one of them stands for all."""

    op: Work
    topology: Topology

    @cached_property
    def engine(self) -> Engine:
        return self.op.engine

    @cached_property
    def flag(self) -> Flag:
        return raised_flag(self.op)

    @cached_property
    def increments(self) -> int:
        return increments(self.op)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """What they touch, operand by operand."""
        operands = enumerate(footprints(self.op, self.topology))
        return tuple(Use(self.op, place, footprint) for place, footprint in operands)

    @cached_property
    def pages(self) -> Sequence[Page]:
        """Those that their operands may touch, and whether they write there."""
        touched: dict[Page, None] = {}
        for use in self.uses:
            memory, writes, (first, end) = use.footprint.memory, use.footprint.writes, use.footprint.extent
            touched.update(((memory, page, writes), None) for page in range(first // PAGE_BYTES, -(-end // PAGE_BYTES)))
        return tuple(touched)


class Effects(Struct, frozen=True, eq=False, dict=True):
    """An instruction for tiles, other than a fence; ``alike`` is what it does, and others that are like it."""

    op: Work
    topology: Topology
    alike: Touched

    @classmethod
    def alone(cls, op: Work, topology: Topology) -> Effects:
        """Of an instruction without others."""
        return cls(op, topology, Touched(op, topology))

    @property
    def engine(self) -> Engine:
        return self.alike.engine

    @property
    def flag(self) -> Flag:
        return self.alike.flag

    @property
    def increments(self) -> int:
        return self.alike.increments

    @property
    def uses(self) -> tuple[Use, ...]:
        return self.alike.uses

    @property
    def pages(self) -> Sequence[Page]:
        return self.alike.pages

    @cached_property
    def firing(self) -> FiringConditions:
        """In rounds of its own."""
        return own_conditions(self.op)

    @cached_property
    def waits(self) -> tuple[WatchedCounts, ...]:
        return tuple(self._wait(watcher) for watcher in self.op.wait)

    def _wait(self, watcher: Watcher) -> WatchedCounts:
        rounds = rounds_of(counted_nest(self.op), watcher.loop) if watcher.loop else 1
        first = watcher.expected + self.topology.tile.strict_compare
        return WatchedCounts(watcher, first, first + max(0, (rounds - 1) * watcher.stride))


Section = Sequence[Effects | TileFence]


def effects_of(program: Program) -> tuple[Section, ...]:
    """Everything in a program that tiles take part in: in the load and in the run section."""
    known: dict[int, Touched] = {}
    return tuple([*_effects(section, program, known)] for section in (program.load, program.run))


def _effects(
    section: Sequence[Instruction], program: Program, known: dict[int, Touched]
) -> Iterator[Effects | TileFence]:
    kinds, topology = program.once(Kinds), program.topology
    for op in section:
        if isinstance(op, TileFence):
            yield op
        elif isinstance(op, Work):
            number = kinds.number(op)
            if number not in known:
                known[number] = Touched(op, topology)
            yield Effects(op, topology, known[number])
