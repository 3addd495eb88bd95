"""Which instructions touch the same bytes, and which may wait for one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.dataflow.extents import WRITES, Extents, Form
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import Work
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.footprint import common

if TYPE_CHECKING:
    from tilesim.tiled.dataflow.read_out import ReadOut

Span: TypeAlias = tuple[int, int, int]
"""An operand, as a number, and between which bytes it touches some. Wide memory comes behind the narrow one."""
Hulls: TypeAlias = tuple[int, ...]
"""Of one instruction, what :class:`~tilesim.tiled.dataflow.extents.Extents` has of all."""


class Traits:
    """What is asked of an instruction for an engine of a tile again and again."""

    def __init__(self, op: Work, form: Form, hulls: Hulls) -> None:
        self.op, self.form, self.hulls = op, form, hulls
        self.raises = form.raises

    @cached_property
    def touched(self) -> tuple[Sequence[Span], Sequence[Span]]:
        """What it reads, and what it writes."""
        found: tuple[list[Span], list[Span]] = ([], [])
        for k, (base, span) in enumerate(zip(self.form.bases(self.op), self.form.spans, strict=True)):
            found[span.hull >= WRITES].append((k, base + span.first, base + span.end))
        return found

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
        if not _are_near(self.hulls, other.hulls):  # as most are
            return False
        (reads, writes), (other_reads, other_writes) = self.touched, other.touched
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
        self.read_out = read_out or {}
        self._extents = program.once(Extents)
        self.rounds, self.rises_early = self._extents.rounds, self._extents.rises_early
        self._traits: dict[int, Traits] = {}
        self._known: dict[int, dict[int, bool]] = defaultdict(dict)

    def traits(self, place: int) -> Traits:
        traits = self._traits.get(place)
        if traits is None:
            op: Work = self._ops[place]  # type: ignore[assignment]
            hulls = self._extents.hulls[:, place]
            traits = self._traits[place] = Traits(op, self._extents.form(place), tuple(hulls.tolist()))
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
        (reads, writes), (other_reads, other_writes) = (
            self._extents.hulls[:, places].reshape(2, 2, 2, -1) for places in (one, other)
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
