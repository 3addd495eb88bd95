"""Two instructions of one tile that touch the same bytes must come in an order that flags, fences or a buffer
enforce. What a tensorop itself writes and reads again needs none: its interlock sees to that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from operator import attrgetter

import numpy as np

from tilesim.tiled.isa.fields import Traversal, Watcher
from tilesim.tiled.isa.instructions import counted_nest
from tilesim.tiled.isa.nests import iterations
from tilesim.tiled.isa.program import Program
from tilesim.tiled.rules.act import Act, Acts, Use, acts_of
from tilesim.tiled.rules.order import Step, TileOrder
from tilesim.tiled.rules.waits import vain_waits
from tilesim.tiled.units import ttu

Pair = tuple[Use, Use]


def hazards(program: Program) -> list[str]:
    """Every pair of instructions that may touch the same bytes in either order, at least one of them writing, one
    sentence a pair; and every wait for a later instruction that has nothing to do with the one that waits.
    """
    search = _Search(acts_of(program))
    return [sentence for tile in range(program.topology.tiles) for sentence in search.sentences(tile)]


@dataclass(frozen=True)
class Unordered:
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
    search = _Search(acts_of(program))
    return [pair for tile in range(program.topology.tiles) for pair in search.pairs(tile)]


@dataclass(frozen=True)
class _Met:
    """Two operands of a tile's instructions that meet, and what nothing orders."""

    a: Step
    b: Step
    uses: Pair

    @property
    def turned(self) -> _Met:
        return _Met(self.b, self.a, (self.uses[1], self.uses[0]))

    @property
    def places(self) -> tuple[int, ...]:
        return self.a.number, self.uses[0].place, self.b.number, self.uses[1].place


@dataclass(frozen=True)
class _Search:
    """A search tile by tile; what is found out of two instructions holds in all tiles that have both."""

    acts: Acts
    _shared: dict[tuple[Act, Act], list[Pair]] = field(default_factory=dict)
    _followed: dict[tuple[Use, Use, int], bool] = field(default_factory=dict)

    @property
    def strict(self) -> bool:
        return self.acts.topology.tile.strict_compare

    def sentences(self, tile: int) -> Iterator[str]:
        order = TileOrder(self.acts, tile)
        yield from (f"tile {tile}: {sentence}" for sentence in order.fence_faults)
        started = [step for step in order.steps if order.starts(step)]
        yield from (f"tile {tile}: {sentence}" for sentence in vain_waits(order, started))
        yield from (_sentence(tile, met) for met in _listed(started, self.unordered(order, started)))

    def pairs(self, tile: int) -> Iterator[Unordered]:
        order = TileOrder(self.acts, tile)
        for met in self.unordered(order, [step for step in order.steps if order.starts(step)]):
            first, other = sorted((met.a, met.b), key=attrgetter("number"))
            one, another = (use.footprint for use in met.uses)
            both = one.touched & another.touched
            yield Unordered(tile, first.op.label, other.op.label, one.memory, both)

    def unordered(self, order: TileOrder, started: list[Step]) -> list[_Met]:
        return [met for met in self._meetings(order, started) if not self._gated(order, met)]

    def _meetings(self, order: TileOrder, started: list[Step]) -> Iterator[_Met]:
        """Instructions of two engines in no order (the buffer of one keeps them in order), and operands that meet."""
        touching: dict[tuple[str, bool], int] = defaultdict(int)
        for step in started:
            among = 0
            for memory, writes in step.act.sides:
                among |= touching[memory, True] | (touching[memory, False] if writes else 0)
            for other in order.unordered(step, among & ~order.queues[step.act.engine]):
                for uses in self._sharing(other.act, step.act):
                    yield _Met(other, step, uses)
            for side in step.act.sides:
                touching[side] |= step.bit

    def _sharing(self, one: Act, other: Act) -> list[Pair]:
        """Operands of two instructions that touch some byte both, at least one of them writing."""
        found = self._shared.get((one, other))
        if found is None:
            pairs = product(one.uses, other.uses)
            found = self._shared[one, other] = [(a, b) for a, b in pairs if a.footprint.clashes(b.footprint)]
        return found

    def _gated(self, order: TileOrder, met: _Met) -> bool:
        """Whether watchers let one of them touch a row only when the other is through with it."""
        a, b = met.uses
        return self._follows(order, (met.a, a), (met.b, b)) or self._follows(order, (met.b, b), (met.a, a))

    def _follows(self, order: TileOrder, ahead: tuple[Step, Use], behind: tuple[Step, Use]) -> bool:
        (first, one), (then, other) = ahead, behind
        watchers = [watcher for watcher in then.op.wait if watcher.flag == first.act.flag]
        if not watchers or first.op.produce is None or not order.raises_for(first, then):
            return False
        before = first.raised_to - first.act.increments
        known = one, other, before
        if known not in self._followed:
            watch = _Watch(watchers, self.strict, before)
            self._followed[known] = watch.by_rounds(one, other) or watch.by_rows(one, other)
        return self._followed[known]


def _listed(started: list[Step], found: list[_Met]) -> list[_Met]:
    """Pairs by the memory, the engine and the way of either side, as these first come up, then by instruction."""
    if not found:
        return []
    uses = (use for step in started for use in step.act.uses)
    kinds = {kind: place for place, kind in enumerate(dict.fromkeys(map(_kind, uses)))}
    turned = [met if kinds[_kind(met.uses[0])] < kinds[_kind(met.uses[1])] else met.turned for met in found]
    return sorted(turned, key=lambda met: ([kinds[_kind(use)] for use in met.uses], met.places))


def _kind(use: Use) -> tuple[str, str, bool]:
    return use.footprint.memory, use.act.engine, use.footprint.writes


@dataclass(frozen=True)
class _Watch:
    """Watchers of the flag that another instruction raises, which stood at ``before`` when that began."""

    watchers: list[Watcher]
    strict: bool
    before: int

    def by_rounds(self, first: Use, then: Use) -> bool:
        """Round by round of both outermost loops: all that ``first`` may still touch, ``then`` leaves alone."""
        ahead, behind = first.rounds, then.rounds
        if ahead is None or behind is None:
            return False
        outer = counted_nest(then.act.op).loops[0].name
        watchers = [watcher for watcher in self.watchers if watcher.loop in (None, outer)]
        rounds = np.arange(behind.count, dtype=np.int64)
        counts = [each.expected + rounds * each.stride + self.strict for each in watchers] or [rounds * 0 - 1]
        done = (np.max(counts, axis=0) - self.before) * ahead.count // first.act.increments
        return not behind.meets(ahead, np.maximum(0, done))

    def by_rows(self, first: Use, then: Use) -> bool:
        """Row by row, or word by word, of two DMAs."""
        watchers = [(watcher, watcher.loop) for watcher in self.watchers if watcher.loop is not None]
        if not watchers or first.rows is None or then.rows is None:
            return False
        done = self._done_at(first, first.rows)
        nest = counted_nest(then.act.op)
        allowed = np.full(iterations(nest), -1, np.int64)
        for watcher, loop in watchers:
            for k, start in enumerate(ttu.starts(nest, loop)):
                count = watcher.expected + k * watcher.stride + self.strict
                allowed[start:] = np.maximum(allowed[start:], count)
        touched = ttu.addresses(then.rows.nest, then.rows.reference)
        by_access = np.repeat(allowed, len(touched) // len(allowed))  # several words a row
        return all(
            done.get(address, 0) <= count for address, count in zip(touched.tolist(), by_access.tolist(), strict=True)
        )

    def _done_at(self, use: Use, rows: Traversal) -> dict[int, int]:
        """What the flag has counted to when the instruction is through with each row, or word, that it touches."""
        op = use.act.op
        assert op.produce is not None
        nest = counted_nest(op)
        addresses = ttu.addresses(rows.nest, rows.reference)
        round_of_access = np.arange(len(addresses)) // (len(addresses) // iterations(nest))
        counts = self.before + 1 + np.searchsorted(ttu.completions(nest, op.produce), round_of_access, side="right")
        return dict(zip(addresses.tolist(), counts.tolist(), strict=True))


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
