"""Whether syncs order what must be ordered: instructions that touch the same memory.

Units take their queues in order and retire in order, so that of each unit only the last access of a place counts: an
instruction that knows of it knows of those before. Two instructions of one unit are in order, but that the vector unit
begins the next before the results of the last are written: one that reads them needs a sync, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilesim.systolic.isa.checks.deadlock import named
from tilesim.systolic.isa.checks.footprints import ACCUMULATORS, BUFFER, WEIGHTS, Footprint, MemoryAccess, accesses
from tilesim.systolic.isa.checks.program import sections, span
from tilesim.systolic.isa.checks.untimed import UNITS, Begun, Clock, UntimedExecution
from tilesim.systolic.isa.model.instructions import Instruction, Queue
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.topology import Topology

_PIPELINED = UNITS.index(Queue.VECTOR)
Kind = tuple[int, bool]
"""A unit, and whether it writes."""
Shape = tuple[int, int, int]
"""Footprints of one shape touch the same bytes of whatever range lies in all of them: period, place in it, width."""


@dataclass(frozen=True)
class _Last:
    """A unit's last access of a shape: ``begun`` did it."""

    begun: Begun
    footprint: Footprint


Accesses = dict[Kind, dict[Shape, _Last]]


def hazards(program: Program) -> list[str]:
    """Every pair of instructions that touch the same memory, one of them to write, and that no sync puts in order.

    ``program`` must be without :func:`~tilesim.systolic.isa.checks.program.faults`.
    """
    return [
        sentence
        for name, section in sections(program)
        for sentence in _section_hazards(name, section, UntimedExecution(section, program.topology))
    ]


def _section_hazards(name: str, section: tuple[Instruction, ...], execution: UntimedExecution) -> Iterator[str]:
    sentences: dict[tuple[int, int], str] = {}
    for earlier, later, what in _meetings(section, execution.begun, execution.topology):
        pair = min(earlier, later), max(earlier, later)
        if pair not in sentences:
            first, second = (named(name, place, section[place]) for place in pair)
            sentences[pair] = f"nothing orders {first} and {second}: both touch {what}"
    yield from (sentences[pair] for pair in sorted(sentences))


def _meetings(
    section: tuple[Instruction, ...], begun: list[Begun], topology: Topology
) -> Iterator[tuple[int, int, str]]:
    ranges = {memory: Ranges() for memory in (BUFFER, WEIGHTS, ACCUMULATORS)}
    for instruction in begun:
        # A host tensor belongs to one unit alone: those that come in to one, those that go out to the other.
        for access in (it for it in accesses(section[instruction.place], topology) if it.memory in ranges):
            for last in ranges[access.memory].touch(instruction, access):
                first = max(last.footprint.first, access.footprint.first)
                end = min(last.footprint.end, access.footprint.end)
                yield last.begun.place, instruction.place, f"{span(access.memory, first, end)} of {access.memory}"


@dataclass
class Ranges:
    """A memory cut into ranges (the k-th from ``starts[k]`` on) that the same accesses have touched last."""

    starts: list[int] = field(default_factory=lambda: [0])
    touched: list[Accesses] = field(default_factory=lambda: [{}])

    def touch(self, begun: Begun, access: MemoryAccess) -> list[_Last]:
        """Note an access, and return those before that meet it and that ``begun`` does not know of."""
        footprint, kind = access.footprint, (begun.unit, access.writes)
        first, end = _whole_periods(footprint)
        here = range(self._cut(first), self._cut(end))
        unordered = [last for place in here for last in _unordered(self.touched[place], kind, begun.known, footprint)]
        shape = (
            (footprint.period, footprint.first % footprint.period, footprint.width) if footprint.period else (0, 0, 0)
        )
        mine = _Last(begun, footprint)
        if access.writes and not footprint.period and not unordered:
            # Whoever knows of this access knows of all that it knew: nothing before it counts any more.
            self.starts[here.start : here.stop] = [footprint.first]
            self.touched[here.start : here.stop] = [{kind: {shape: mine}}]
            return []
        for place in here:
            shapes = self.touched[place].setdefault(kind, {})
            if not footprint.period:
                shapes.clear()
            shapes.pop(shape, None)
            shapes[shape] = mine
        return unordered

    def _cut(self, address: int) -> int:
        """The place of the range that begins at ``address``, made by cutting one if need be."""
        place = bisect_left(self.starts, address)
        if place == len(self.starts) or self.starts[place] != address:
            self.starts.insert(place, address)
            self.touched.insert(place, {kind: dict(shapes) for kind, shapes in self.touched[place - 1].items()})
        return place


def _whole_periods(footprint: Footprint) -> tuple[int, int]:
    """Where a footprint begins and ends. Where each of its pieces lies inside of a whole period, all of these, so that
    those side by side do not cut memory into crumbs.
    """
    into = footprint.first % footprint.period if footprint.period else 0
    if not footprint.period or into + footprint.width > footprint.period:
        return footprint.first, footprint.end
    return footprint.first - into, footprint.end + -footprint.end % footprint.period


def _unordered(touched: Accesses, kind: Kind, known: Clock, footprint: Footprint) -> Iterator[_Last]:
    """Accesses that conflict with one of ``kind`` to ``footprint``, and that are not ``known``."""
    unit, writes = kind
    for (other, wrote), shapes in touched.items():
        if (writes or wrote) if other != unit else (unit == _PIPELINED and wrote and not writes):
            for last in reversed(shapes.values()):
                if last.begun.count <= known[other]:
                    break  # the others are older
                if last.footprint.meets(footprint):
                    yield last
