"""Between which bytes a program's instructions read and write: worked out for all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod
from typing import get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from tilesim.errors import AccessError
from tilesim.ragged import ranges
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.by_type import ByType
from tilesim.tiled.isa.model.fields import Flag, MemoryName
from tilesim.tiled.isa.model.instructions import TensorOp, Work, counted_nest, increments, raised_flag
from tilesim.tiled.isa.model.likeness import bases_of, form_numbers
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.footprint import Footprint, footprints
from tilesim.tiled.topology import Topology

FAR = 1 << 62
"""Behind all bytes."""
FARTHEST_BASE = 1 << 52
"""Far behind all of them, too, and a number that is exact as a float: bases of a forged file may be any."""
WRITES = 4
"""The first of the hulls that are of what is written."""


class Span(Struct, frozen=True):
    """Between which bytes an operand touches some, from where it begins; wide memory comes behind the narrow one.
    Its memory's bytes are those from ``memory`` to ``memory_end``; ``hull`` is its place in :attr:`Extents.hulls`.
    """

    first: int
    end: int
    memory: int
    memory_end: int
    hull: int


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
        """What its operands touch."""
        self.bases = bases_of(op, [each.operand for each in self.footprints])
        """Tells where the operands of one of them begin."""
        self.spans: Sequence[Span] = [*self._spans()]
        """By footprint."""

    def _spans(self) -> Iterator[Span]:
        narrow, wide = self.topology.narrow_memory.size_bytes, self.topology.wide_memory.size_bytes
        memories: dict[str, range] = {MemoryName.NARROW: range(narrow), MemoryName.WIDE: range(narrow, narrow + wide)}
        for each, base in zip(self.footprints, self.bases(self.op), strict=True):
            memory, (first, end) = memories[each.memory], each.extent
            hull = WRITES * each.writes + 2 * (each.memory == MemoryName.WIDE)
            yield Span(memory.start + first - base, memory.start + end - base, memory.start, memory.stop, hull)


def _rounds(op: Work) -> int:
    if isinstance(op, TensorOp):  # result groups
        return prod([loop.bound for loop in op.nest.loops[:-1] if loop.name not in op.reduce])
    return iterations(counted_nest(op))


class Extents:
    """Those of all instructions for engines of tiles, by their places in load and run.

    Raises:
        AccessError: one addresses bytes outside its memory.
    """

    def __init__(self, program: Program) -> None:
        self._ops, numbers = (*program.load, *program.run), np.array(program.once(form_numbers), np.int64)
        by_type, count = program.once(ByType), len(self._ops)
        works = np.array(sorted(place for kind in get_args(Work) for place, _ in by_type.of(kind)), np.int64)
        _, first, which = np.unique(numbers[works], return_index=True, return_inverse=True)
        forms = [Form(self._op(place), program.topology) for place in works[first].tolist()]
        self._forms: dict[int, Form] = dict(zip(works.tolist(), (forms[k] for k in which.tolist()), strict=True))
        self.rounds, self.rises_early = np.zeros(count, np.int64), np.zeros(count, bool)
        """How many iterations the flag of each may count, and whether it rises before the instruction retires."""
        self.rounds[works] = np.array([form.rounds for form in forms], np.int64)[which]
        self.rises_early[works] = np.array([form.rises_early for form in forms], bool)[which]
        self.hulls = self._hulls(works, forms, which)
        """The first byte and the end of what is read, and, from :data:`WRITES` on, of what is written, in either
        memory: [these, instructions].
        """

    def form(self, place: int) -> Form:
        """That of an instruction."""
        return self._forms[place]

    def _hulls(self, works: Numbers, forms: Sequence[Form], which: Numbers) -> Numbers:
        spans = np.array([astuple(span) for form in forms for span in form.spans], np.int64).reshape(-1, 5)
        of_form = np.array([len(form.spans) for form in forms], np.int64)
        first_of_form, counts = (of_form.cumsum() - of_form)[which], of_form[which]
        of = np.repeat(works, counts)
        own = ranges(first_of_form, counts)
        each = zip(which.tolist(), works.tolist(), strict=True)
        bases = np.fromiter(
            chain.from_iterable([forms[number].bases(self._ops[place]) for number, place in each]), float
        )
        low, high, memory, its_end, hull = spans[own].T
        base = bases.clip(-FARTHEST_BASE, FARTHEST_BASE).astype(np.int64)
        first, end = base + low, base + high
        outside = (first < memory) | (end > its_end)
        if outside.any():
            label = self._op(of[outside.argmax()]).label
            raise AccessError(f"{label} addresses bytes that its memory does not have")
        hulls = np.tile(np.array([[FAR], [-1]]), (4, len(self._ops)))
        np.minimum.at(hulls, (hull, of), first)
        np.maximum.at(hulls, (hull + 1, of), end)
        return hulls

    def _op(self, place: int) -> Work:
        op: Work = self._ops[place]  # type: ignore[assignment]
        return op
