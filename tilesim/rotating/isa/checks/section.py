"""A section of a program without time: how often loops carry out what, and how much came before.

Loops turn as often as they say, so that what an instruction has behind it is a sum of multiples of the counters around
it, as its rows are. Nothing needs to be unrolled to know it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tilesim.rotating.isa.checks.accesses import Access, accesses
from tilesim.rotating.isa.model.instructions import (
    End,
    Function,
    Halt,
    Instruction,
    Loop,
    Out,
    Queue,
    ReadHostMemory,
    WriteHostMemory,
)
from tilesim.rotating.isa.walk import queued
from tilesim.rotating.topology import RAW_ROWS, Topology


class Tally(NamedTuple):
    """What the array has carried out: instructions (turns of loops count as one, too), outs, and rows of these."""

    issued: int = 0
    outs: int = 0
    writes: int = 0

    def plus(self, other: Tally, times: int = 1) -> Tally:
        issued, outs, writes = other
        return Tally(self.issued + times * issued, self.outs + times * outs, self.writes + times * writes)


@dataclass(frozen=True)
class Nested:
    """An instruction of the array, in loops that turn ``counts`` times, the outermost first.

    ``before`` came before it in the first turns of all; a turn more of loop k is ``turns[k]`` more.
    """

    place: int
    op: Instruction
    counts: tuple[int, ...]
    turns: tuple[Tally, ...]
    before: Tally


class Touch(NamedTuple):
    """An instruction with one of its accesses, and the first and the last address of it in all turns."""

    nested: Nested
    access: Access
    first: int
    last: int

    @property
    def rows(self) -> tuple[int, int]:
        """The first and the last row, which may have two addresses."""
        return (self.first // 2, self.last // 2) if self.access.halves else (self.first, self.last)


@dataclass(frozen=True)
class Section:
    """``load`` or ``run`` of a program, whose loops have no faults."""

    name: str
    ops: tuple[Instruction, ...]
    topology: Topology

    @cached_property
    def nested(self) -> list[Nested]:
        """What the array carries out, up to where it halts."""
        return list(self._nested())

    @cached_property
    def totals(self) -> Tally:
        """What the array has carried out in the end."""
        return self._bodies[-1]

    @cached_property
    def touched(self) -> list[Touch]:
        """Every row that the array and the output unit touch."""
        return [touch(nested, access) for nested in self.nested for access in accesses(nested.op, self.topology)]

    @cached_property
    def rows_in(self) -> list[tuple[int, ReadHostMemory, int]]:
        """What DMA in moves: places, instructions, and the rows that went before."""
        moved = ((place, op) for place, op in queued(self.ops, Queue.DMA_IN) if isinstance(op, ReadHostMemory))
        before, rows = 0, []
        for place, op in moved:
            rows.append((place, op, before))
            before += op.rows
        return rows

    @cached_property
    def rows_out(self) -> list[tuple[int, WriteHostMemory, int]]:
        """What DMA out moves, likewise."""
        moved = ((place, op) for place, op in queued(self.ops, Queue.DMA_OUT) if isinstance(op, WriteHostMemory))
        before, rows = 0, []
        for place, op in moved:
            rows.append((place, op, before))
            before += op.rows
        return rows

    @cached_property
    def _bodies(self) -> dict[int, Tally]:
        """What a turn of each loop carries out, by its place; all that there is by -1."""
        bodies: dict[int, Tally] = {}
        around, here = [(-1, 1, Tally())], Tally()
        for place, op in enumerate(self.ops):
            if isinstance(op, Loop):
                around.append((place, op.count, here))
                here = Tally()
            elif isinstance(op, End):
                begin, count, outside = around.pop()
                bodies[begin] = here.plus(Tally(issued=1))
                here = outside.plus(bodies[begin], count)
            elif isinstance(op, Halt):
                break
            elif op.queue is Queue.ARRAY:
                here = here.plus(_one(op))
        return {**bodies, -1: here}

    def _nested(self) -> Iterator[Nested]:
        counts, turns, begins = list[int](), list[Tally](), list[Tally]()
        here = Tally()
        for place, op in enumerate(self.ops):
            if isinstance(op, Loop):
                counts.append(op.count)
                turns.append(self._bodies[place])
                begins.append(here)
            elif isinstance(op, End):
                here = begins.pop().plus(turns.pop(), counts.pop())
            elif isinstance(op, Halt):
                return
            elif op.queue is Queue.ARRAY:
                yield Nested(place, op, tuple(counts), tuple(turns), here)
                here = here.plus(_one(op))


def touch(nested: Nested, access: Access) -> Touch:
    return Touch(nested, access, *access.extent(nested.counts))


def _one(op: Instruction) -> Tally:
    if not isinstance(op, Out):
        return Tally(1)
    return Tally(1, 1, RAW_ROWS if op.function is Function.RAW else 1)
