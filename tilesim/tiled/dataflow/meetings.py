"""Which instructions touch the same bytes, and which may wait for one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.fields import Flag, MemoryName
from tilesim.tiled.isa.model.instructions import (
    TensorOp,
    Work,
    counted_nest,
    increments,
    raised_flag,
)
from tilesim.tiled.isa.model.likeness import Forms, base_of
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.footprint import Footprint, common, footprints
from tilesim.tiled.topology import Topology

if TYPE_CHECKING:
    from tilesim.tiled.dataflow.read_out import ReadOut

FAR = 1 << 62
"""Behind all bytes."""
Span: TypeAlias = tuple[int, int, int]
"""An operand, as a number, and between which bytes it touches some. Wide memory comes behind the narrow one."""
Hulls: TypeAlias = tuple[int, ...]
"""The first byte and the end of what is read, and, from :data:`WRITES` on, of what is written, in either memory."""
WRITES = 4


class Form:
    """What instructions have in common that are alike but for where their operands begin; ``op`` is one of them."""

    def __init__(self, op: Work, topology: Topology) -> None:
        self.op, self.topology = op, topology
        self.rounds = _rounds(op)
        """How many iterations their flag may count."""
        self.rises_early = increments(op) > 1
        """Whether their flag rises before they retire."""
        self.raises: Flag = raised_flag(op)
        self.footprints: Sequence[Footprint] = [*footprints(op, topology)]
        self.spans: Sequence[tuple[str, int, int, range, int]] = [*self._spans()]
        """The operands, between which bytes each touches some from where it begins, those of its memory, and the place
        of the first one in :data:`Hulls`.
        """

    def _spans(self) -> Iterator[tuple[str, int, int, range, int]]:
        narrow, wide = self.topology.narrow_memory.size_bytes, self.topology.wide_memory.size_bytes
        memories: dict[str, range] = {MemoryName.NARROW: range(narrow), MemoryName.WIDE: range(narrow, narrow + wide)}
        for each in self.footprints:
            memory, (first, end) = memories[each.memory], each.extent
            begin = memory.start - base_of(self.op, each.operand)
            place = WRITES * each.writes + 2 * (each.memory == MemoryName.WIDE)
            yield each.operand, begin + first, begin + end, memory, place


class Traits:
    """What is asked of an instruction for an engine of a tile again and again.

    Raises:
        AccessError: it addresses bytes outside its memory.
    """

    def __init__(self, op: Work, form: Form) -> None:
        self.op, self.form = op, form
        self.rounds, self.rises_early, self.raises = form.rounds, form.rises_early, form.raises
        self.touched = self._touched()
        """What it reads, what it writes, and between which bytes that is."""

    def _touched(self) -> tuple[Sequence[Span], Sequence[Span], Hulls]:
        found: tuple[list[Span], list[Span]] = ([], [])
        hulls = [FAR, -1] * 4
        for k, (operand, low, high, memory, place) in enumerate(self.form.spans):
            base = base_of(self.op, operand)
            first, end = base + low, base + high
            if first < memory.start or end > memory.stop:
                raise AccessError(f"{self.op.label} addresses bytes that its memory does not have")
            found[place >= WRITES].append((k, first, end))
            hulls[place], hulls[place + 1] = min(hulls[place], first), max(hulls[place + 1], end)
        return (*found, tuple(hulls))

    def pattern(self, operand: int) -> int:
        """The bytes from its first on, as a bitmap."""
        return self.form.footprints[operand].pattern

    @cached_property
    def watches(self) -> frozenset[Flag]:
        return frozenset(watcher.flag for watcher in self.op.wait)

    @cached_property
    def is_held(self) -> bool:
        """Whether flags hold its loops."""
        return any(watcher.loop is not None for watcher in self.op.wait)

    def meets(self, other: Traits) -> bool:
        """Whether both touch some byte that at least one of them writes."""
        (reads, writes, hulls), (other_reads, other_writes, other_hulls) = self.touched, other.touched
        if not _are_near(hulls, other_hulls):  # as most are
            return False
        return self._share(writes, other, [*other_reads, *other_writes]) or self._share(reads, other, other_writes)

    def _share(self, spans: Sequence[Span], other: Traits, others: Sequence[Span]) -> bool:
        for k, first, end in spans:
            for j, other_first, other_end in others:
                near = first < other_end and other_first < end
                if near and common(self.pattern(k), other.pattern(j), other_first - first):
                    return True
        return False


class Meetings:
    """The instructions of a program, by their places in load and run, and what is read out when some have retired."""

    def __init__(self, program: Program, read_out: ReadOut | None = None) -> None:
        self._ops = (*program.load, *program.run)
        self._topology = program.topology
        self.read_out = read_out or {}
        self._number = program.once(Forms).number
        self._forms: dict[int, Form] = {}
        self._traits: dict[int, Traits] = {}
        self._known: dict[int, dict[int, bool]] = defaultdict(dict)
        self._hulls, self._has_hulls = np.empty((8, len(self._ops)), np.int64), np.zeros(len(self._ops), bool)
        """By instruction, of those that have been asked for."""

    def traits(self, place: int) -> Traits:
        traits = self._traits.get(place)
        if traits is None:
            op: Work = self._ops[place]  # type: ignore[assignment]
            number = self._number(op)
            if number not in self._forms:
                self._forms[number] = Form(op, self._topology)
            traits = self._traits[place] = Traits(op, self._forms[number])
        return traits

    def clash(self, one: int, other: int) -> bool:
        """Whether two of them touch some byte, or what is read out after them, at least one of them writing; an
        instruction is in its own way.
        """
        known = self._known[one]
        return known[other] if other in known else self._look(one, other)

    def clashes(self, one: int, others: Iterable[int]) -> list[bool]:
        """The same of one and each of some others."""
        known = self._known[one]
        return [known[other] if other in known else self._look(one, other) for other in others]

    def may_clash(self, one: Numbers, other: Numbers) -> NDArray[np.bool_]:
        """The same of many pairs at once, rather too often: as if they touched all bytes between the first and the last
        that they do.
        """
        if self.read_out:
            return np.ones(len(one), bool)
        asked = np.zeros(len(self._ops), bool)
        asked[one] = asked[other] = True
        for place in np.flatnonzero(asked & ~self._has_hulls).tolist():
            self._hulls[:, place] = self.traits(place).touched[2]
        self._has_hulls |= asked
        (reads, writes), (other_reads, other_writes) = (
            self._hulls[:, places].reshape(2, 2, 2, -1) for places in (one, other)
        )
        share = _overlap(writes, other_writes) | _overlap(writes, other_reads) | _overlap(reads, other_writes)
        clash: NDArray[np.bool_] = share | (one == other)
        return clash

    def _look(self, one: int, other: int) -> bool:
        clash = one == other or self.traits(one).meets(self.traits(other))
        if self.read_out:
            clash = clash or self.disturbs(one, other) or self.disturbs(other, one)
        self._known[one][other] = self._known[other][one] = clash
        return clash

    def disturbs(self, one: int, other: int) -> bool:
        """Whether one of them writes what is read out when the other has retired."""
        traits = self.traits(one)
        return any(
            common(traits.pattern(k), standing.pattern, standing.first - first)
            for standing in self.read_out.get(other, ())
            for k, first, end in traits.touched[1]
            if first < standing.end and standing.first < end
        )


def _are_near(one: Hulls, other: Hulls) -> bool:
    """Whether two could share a byte that one writes, if they touched all between the first and the last. An expression
    takes a third of the time of a loop.
    """
    r0, r1, x0, x1, w0, w1, z0, z1 = one
    s0, s1, y0, y1, v0, v1, u0, u1 = other
    narrow = (w0 < s1 and s0 < w1) or (w0 < v1 and v0 < w1) or (r0 < v1 and v0 < r1)
    return narrow or (z0 < y1 and y0 < z1) or (z0 < u1 and u0 < z1) or (x0 < u1 and u0 < x1)


def _overlap(spans: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """Whether two spans overlap in one of the memories: (memories, first and end, pairs)."""
    overlap: NDArray[np.bool_] = (spans[:, 0] < others[:, 1]) & (others[:, 0] < spans[:, 1])
    either: NDArray[np.bool_] = np.logical_or(*overlap)
    return either


def _rounds(op: Work) -> int:
    if isinstance(op, TensorOp):  # result groups
        return prod([loop.bound for loop in op.nest.loops[:-1] if loop.name not in op.reduce])
    return iterations(counted_nest(op))
