"""Two instructions of one tile that touch the same bytes must come in an order that flags, fences or a buffer
enforce. What a tensorop itself writes and reads again needs none: its interlock sees to that.

And an instruction may wait for a later one only if that, or what comes before that, brings what it needs, or clears the
place for what it makes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from operator import attrgetter

from msgspec import Struct, field

from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.doubts import doubtful
from tilesim.tiled.rules.tile.effects import Effects, Page, Section, Touched, effects_of
from tilesim.tiled.rules.tile.happens_before import HappensBefore, TileStep
from tilesim.tiled.rules.tile.headway import chained, interleaved, watched
from tilesim.tiled.rules.tile.touches import Use
from tilesim.tiled.topology import Topology

Pair = tuple[Use, Use]


def hazards(program: Program, sections: Sequence[Section] = ()) -> list[str]:
    """Every pair of instructions that may touch the same bytes in either order, at least one of them writing, one
    sentence a pair; and every wait for a later instruction that has nothing to do with the one that waits. ``sections``
    are the program's effects, if somebody has them.
    """
    search = _Search(program.topology, sections or effects_of(program))
    return [sentence for tile in search.doubtful() for sentence in search.sentences(tile)]


class Unordered(Struct, frozen=True):
    """Two instructions of a tile, by label, as they come in the program, that nothing orders, and the bytes of a memory
    that both touch, as a bitmap.
    """

    tile: int
    first: str
    other: str
    memory: str
    touched: int


def unordered(program: Program) -> list[Unordered]:
    """The pairs of which :func:`hazards` tells; each instruction must have a label."""
    search = _Search(program.topology, effects_of(program))
    return [pair for tile in search.doubtful() for pair in search.pairs(tile)]


class _Met(Struct, frozen=True):
    """Two operands of a tile's instructions that meet, and what nothing orders."""

    a: TileStep
    b: TileStep
    uses: Pair

    @property
    def turned(self) -> _Met:
        return _Met(self.b, self.a, (self.uses[1], self.uses[0]))

    @property
    def places(self) -> tuple[int, ...]:
        return self.a.number, self.uses[0].place, self.b.number, self.uses[1].place


class _Search(Struct, frozen=True):
    """A search tile by tile, where there is doubt; what is found out of two instructions holds in all tiles that have
    both.
    """

    topology: Topology
    sections: Sequence[Section]
    _shared: dict[tuple[Touched, Touched], list[Pair]] = field(default_factory=dict)
    _shapes: dict[Hashable, int] = field(default_factory=dict)
    _numbers: dict[Use, int] = field(default_factory=dict)
    _followed: dict[tuple[int, int, int, tuple[tuple[int, int], ...]], bool] = field(default_factory=dict)

    def doubtful(self) -> list[int]:
        """The tiles that are worth it."""
        return doubtful(self.topology, self.sections, self._sharing, self._parts)

    def sentences(self, tile: int) -> Iterator[str]:
        order = HappensBefore(self.topology, self.sections, tile)
        yield from (f"tile {tile}: {sentence}" for sentence in order.fence_faults)
        started = [step for step in order.steps if order.starts(step)]
        yield from (f"tile {tile}: {sentence}" for sentence in _vain_waits(order, started))
        yield from (_sentence(tile, met) for met in _listed(started, self.unordered(order, started)))

    def pairs(self, tile: int) -> Iterator[Unordered]:
        order = HappensBefore(self.topology, self.sections, tile)
        for met in self.unordered(order, [step for step in order.steps if order.starts(step)]):
            first, other = sorted((met.a, met.b), key=attrgetter("number"))
            one, another = (use.footprint for use in met.uses)
            both = one.touched & another.touched
            yield Unordered(tile, first.op.label, other.op.label, one.memory, both)

    def unordered(self, order: HappensBefore, started: list[TileStep]) -> list[_Met]:
        """The meetings that no watchers keep apart, so that one touches a piece of memory when the other is through."""
        return [
            met
            for met in self._meetings(order, started)
            if not (self._watched(order, met) or self._watched(order, met.turned) or _chained(order, met))
        ]

    def _meetings(self, order: HappensBefore, started: list[TileStep]) -> Iterator[_Met]:
        """Instructions of two engines in no order (the buffer of one keeps them in order), and operands that meet."""
        touching: dict[Page, int] = defaultdict(int)
        for step in started:
            among = 0
            for memory, page, writes in step.effects.pages:
                among |= touching[memory, page, True] | (touching[memory, page, False] if writes else 0)
            for other in order.unordered(step, among & ~order.queues[step.effects.engine]):
                for uses in self._sharing(other.effects, step.effects):
                    yield _Met(other, step, uses)
            for touched in step.effects.pages:
                touching[touched] |= step.bit

    def _sharing(self, one: Effects, other: Effects) -> list[Pair]:
        """Operands of two instructions that touch some byte both, at least one of them writing."""
        pairs = self._shared.get((one.alike, other.alike))
        if pairs is None:
            every = product(one.uses, other.uses)
            pairs = [(a, b) for a, b in every if a.footprint.clashes(b.footprint)]
            self._shared[one.alike, other.alike] = pairs
        return pairs

    def _watched(self, order: HappensBefore, met: _Met) -> bool:
        """Whether the second's watchers on the flag of the first suffice, which is the same on many tiles."""
        first, then = met.a, met.b
        flag = first.effects.flag
        if not any(watcher.flag == flag for watcher in then.op.wait) or not order.raises_for(first, then):
            return False
        return self._parts(first.effects, first.raised_to, then.effects, met.uses)

    def _parts(self, first: Effects, raised_to: int, then: Effects, uses: Pair) -> bool:
        """Whether watchers of ``then`` on the flag that ``first`` raises to so much keep two operands apart."""
        headway, (ahead, behind) = watched(first, raised_to, then, self.topology.tile.strict_compare), uses
        distance = behind.footprint.first - ahead.footprint.first
        known = self._shape(ahead), self._shape(behind), distance, headway.points
        if known not in self._followed:
            self._followed[known] = headway.parts(ahead, behind)
        return self._followed[known]

    def _shape(self, use: Use) -> int:
        if use not in self._numbers:
            self._numbers[use] = self._shapes.setdefault(use.shape, len(self._shapes))
        return self._numbers[use]


def _vain_waits(order: HappensBefore, started: Sequence[TileStep]) -> Iterator[str]:
    """Every watcher whose count only a later instruction reaches that has no bytes in common with the one that waits,
    and nor have others that stand later and come before that: such a wait orders nothing, and hangs as soon as the
    later one is held up behind it.
    """
    for step in started:
        for wait, later in zip(step.effects.waits, step.reached, strict=True):
            if later is None or later.number <= step.number or not order.starts(later):
                continue
            among = [later, *(other for other in order.listed(order.behind(later)) if other.number > step.number)]
            uses = product(step.effects.uses, (use for other in among for use in other.effects.uses))
            if not any(a.footprint.clashes(b.footprint) for a, b in uses):
                yield (
                    f"{step} waits for {wait.watcher.flag} to reach {wait.last}, which only "
                    f"{later} does, later in the program and with no bytes in common"
                )


def _chained(order: HappensBefore, met: _Met) -> bool:
    """Whether everything that rounds wait for keeps them apart."""
    if not (order.behind(met.a) & (met.b.bit | order.never) or order.behind(met.b) & (met.a.bit | order.never)):
        return False
    of_a, of_b = chained(order, met.a, met.b), chained(order, met.b, met.a)
    apart = of_a.completes(met.a) or of_b.completes(met.b)
    return apart or interleaved(*met.uses, of_a, of_b)


def _listed(started: list[TileStep], meetings: list[_Met]) -> list[_Met]:
    """Pairs by the memory, the engine and the way of either side, as these first come up, then by instruction."""
    if not meetings:
        return []
    uses = (use for step in started for use in step.effects.uses)
    kinds = {kind: place for place, kind in enumerate(dict.fromkeys(map(_kind, uses)))}
    turned = [met if kinds[_kind(met.uses[0])] < kinds[_kind(met.uses[1])] else met.turned for met in meetings]
    return sorted(turned, key=lambda met: ([kinds[_kind(use)] for use in met.uses], met.places))


def _kind(use: Use) -> tuple[str, str, bool]:
    return use.footprint.memory, use.op.engine, use.footprint.writes


def _sentence(tile: int, met: _Met) -> str:
    """Names the writer first."""
    sides = [(met.a, met.uses[0].footprint), (met.b, met.uses[1].footprint)]
    (writing, writer), (touching, other) = sides if sides[0][1].writes else sides[::-1]
    both = writer.touched & other.touched
    first, end = (both & -both).bit_length() - 1, both.bit_length()
    verb = "writes" if other.writes else "reads"
    return (
        f"tile {tile}: nothing orders {writing}, which writes {writer.memory} bytes between "
        f"{first:#x} and {end - 1:#x}, and {touching}, which {verb} them; a watcher or a fence must"
    )
