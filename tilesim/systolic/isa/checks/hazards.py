"""Whether syncs order what must be ordered: instructions that touch the same memory.

Units take their queues in order and retire in order, so that of each unit only the last access of a place counts: an
instruction that knows of it knows of those before. Two instructions of one unit are in order, but that the vector unit
begins the next before the results of the last are written: one that reads them needs a sync, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilesim.systolic.isa.checks.footprints import ACCUMULATORS, BUFFER, WEIGHTS, Access, Area, accesses
from tilesim.systolic.isa.checks.program import sections, span
from tilesim.systolic.isa.checks.untimed import UNITS, Begun, Clock, Replay
from tilesim.systolic.isa.model.instructions import Instruction, Queue
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.topology import Topology

_PIPELINED = UNITS.index(Queue.VECTOR)
Kind = tuple[int, bool]
"""A unit, and whether it writes."""
Shape = tuple[int, int, int]
"""Areas of one shape touch the same bytes of whatever range lies in all of them: period, place in it, width."""


@dataclass(frozen=True)
class _Last:
    """A unit's last access of a shape: ``begun`` did it."""

    begun: Begun
    area: Area


Accesses = dict[Kind, dict[Shape, _Last]]


def races(program: Program) -> list[str]:
    """Every pair of instructions that touch the same memory, one of them to write, and that no sync puts in order.

    ``program`` must be without :func:`~tilesim.systolic.isa.checks.program.faults`.
    """
    return [
        sentence
        for name, section in sections(program)
        for sentence in _section_races(name, section, Replay(section, program.topology))
    ]


def _section_races(name: str, section: tuple[Instruction, ...], replay: Replay) -> Iterator[str]:
    found: dict[tuple[int, int], str] = {}
    for earlier, later, what in _meetings(section, replay.begun, replay.topology):
        pair = min(earlier, later), max(earlier, later)
        if pair not in found:
            first, second = (_named(name, place, section[place]) for place in pair)
            found[pair] = f"nothing orders {first} and {second}: both touch {what}"
    yield from (found[pair] for pair in sorted(found))


def _named(name: str, place: int, op: Instruction) -> str:
    return f"{op.label or f'{name}[{place}]'} ({op.mnemonic})"


def _meetings(
    section: tuple[Instruction, ...], begun: list[Begun], topology: Topology
) -> Iterator[tuple[int, int, str]]:
    ranges = {memory: Ranges() for memory in (BUFFER, WEIGHTS, ACCUMULATORS)}
    for each in begun:
        # A host tensor belongs to one unit alone: those that come in to one, those that go out to the other.
        for access in (it for it in accesses(section[each.place], topology) if it.memory in ranges):
            for last in ranges[access.memory].touch(each, access):
                first, end = max(last.area.first, access.area.first), min(last.area.end, access.area.end)
                yield last.begun.place, each.place, f"{span(access.memory, first, end)} of {access.memory}"


@dataclass
class Ranges:
    """A memory cut into ranges (the k-th from ``starts[k]`` on) that the same accesses have touched last."""

    starts: list[int] = field(default_factory=lambda: [0])
    touched: list[Accesses] = field(default_factory=lambda: [{}])

    def touch(self, begun: Begun, access: Access) -> list[_Last]:
        """Note an access, and return those before that meet it and that ``begun`` does not know of."""
        area, kind = access.area, (begun.unit, access.writes)
        first, end = _whole_periods(area)
        here = range(self._cut(first), self._cut(end))
        found = [last for place in here for last in _unordered(self.touched[place], kind, begun.known, area)]
        shape = (area.period, area.first % area.period, area.width) if area.period else (0, 0, 0)
        mine = _Last(begun, area)
        if access.writes and not area.period and not found:
            # Whoever knows of this access knows of all that it knew: nothing before it counts any more.
            self.starts[here.start : here.stop] = [area.first]
            self.touched[here.start : here.stop] = [{kind: {shape: mine}}]
            return []
        for place in here:
            shapes = self.touched[place].setdefault(kind, {})
            if not area.period:
                shapes.clear()
            shapes.pop(shape, None)
            shapes[shape] = mine
        return found

    def _cut(self, address: int) -> int:
        """The place of the range that begins at ``address``, made by cutting one if need be."""
        place = bisect_left(self.starts, address)
        if place == len(self.starts) or self.starts[place] != address:
            self.starts.insert(place, address)
            self.touched.insert(place, {kind: dict(shapes) for kind, shapes in self.touched[place - 1].items()})
        return place


def _whole_periods(area: Area) -> tuple[int, int]:
    """Where ``area`` begins and ends. Where each of its pieces lies inside of a whole period, all of these, so that
    areas side by side do not cut memory into crumbs.
    """
    into = area.first % area.period if area.period else 0
    if not area.period or into + area.width > area.period:
        return area.first, area.end
    return area.first - into, area.end + -area.end % area.period


def _unordered(touched: Accesses, kind: Kind, known: Clock, area: Area) -> Iterator[_Last]:
    """Accesses that conflict with one of ``kind`` to ``area``, and that are not ``known``."""
    unit, writes = kind
    for (other, wrote), shapes in touched.items():
        if (writes or wrote) if other != unit else (unit == _PIPELINED and wrote and not writes):
            for last in reversed(shapes.values()):
                if last.begun.count <= known[other]:
                    break  # the others are older
                if last.area.meets(area):
                    yield last
