"""Additions that put two instructions of a tile in order that touch the same bytes: as they stand in the program.

The later one waits for the flag of the earlier one, all at once or round by round, or behind a fence. Where one of them
waits for the other round by round already, the other may wait for it in turn, as in a place that is filled and emptied
again and again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import ceil

import numpy as np
from msgspec import Struct

from tilesim.tiled.isa.model.fields import Engine, Watcher
from tilesim.tiled.isa.model.instructions import TensorOp, TileFence, Work, counted_nest
from tilesim.tiled.isa.model.loops import rounds_of
from tilesim.tiled.mending.additions import AddedFence, AddedWait, Addition, Draft, WiderFence, before
from tilesim.tiled.rules.tile.effects import Section, effects_of
from tilesim.tiled.rules.tile.happens_before import HappensBefore, TileStep
from tilesim.tiled.rules.tile.hazards import unordered
from tilesim.tiled.rules.tile.touches import Use, common_unit

ROWS_AHEAD, ROWS_BEHIND = (1, 2, 3), (0, -1, -2, -3)
"""By how many rows one of two may wait for the other that take turns."""
MOST_PAIRS = 32
"""Of which additions are sought at once."""


def access_additions(draft: Draft) -> Iterator[Addition]:
    """Whatever may put one of the pairs in order; each instruction must have a label."""
    search = _InOrder(draft)
    pairs: dict[tuple[str, str], set[int]] = defaultdict(set)
    for pair in unordered(draft.program):
        pairs[pair.first, pair.other].add(pair.tile)
    for labels, tiles in [*pairs.items()][:MOST_PAIRS]:
        yield from search.behind(*labels, sorted(tiles))
    yield from search.wider_resets()


class _InOrder(Struct, frozen=True, dict=True):
    draft: Draft

    @cached_property
    def _sections(self) -> tuple[Section, ...]:
        return effects_of(self.draft.program)

    @cached_property
    def _tiles(self) -> Mapping[int, tuple[HappensBefore, Mapping[str, TileStep]]]:
        program = self.draft.program
        orders = (HappensBefore(program.topology, self._sections, tile) for tile in range(program.topology.tiles))
        return {tile: (order, {step.op.label: step for step in order.steps}) for tile, order in enumerate(orders)}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        """Where instructions stand now."""
        program = self.draft.program
        return {op.label: place for place, op in enumerate((*program.load, *program.run)) if op.label}

    def behind(self, first: str, other: str, tiles: list[int]) -> Iterator[Addition]:
        """``other`` waits for what is ``first``."""
        place = self._places[other]
        watchers: dict[tuple[Watcher, bool], None] = {}
        for tile in tiles:
            order, steps = self._tiles[tile]
            turns = _in_turn(order, steps[other], steps[first], ROWS_AHEAD)
            watchers |= dict.fromkeys((watcher, True) for watcher in turns)
            watchers |= dict.fromkeys((watcher, False) for watcher in _watchers(order, steps[first], steps[other]))
        yield from (AddedWait(self.draft.places[place], *watcher) for watcher in watchers)
        engine = self._tiles[tiles[0]][1][first].effects.engine
        bitmap = sum(1 << tile for tile in tiles)
        fence = TileFence(tiles=bitmap, idle=(engine,))
        yield AddedFence(self.draft.places[before(self.draft.program, place)], (fence,))
        yield from self._wider(self._places[first], place, bitmap, engine)
        for tile in tiles:
            order, steps = self._tiles[tile]
            for watcher in _in_turn(order, steps[first], steps[other], ROWS_BEHIND):
                yield AddedWait(self.draft.places[self._places[first]], watcher, in_turn=True)

    def _wider(self, first: int, other: int, tiles: int, engine: Engine) -> Iterator[Addition]:
        """Fences between the two that could wait for the first, too."""
        program = self.draft.program
        for place in range(first + 1, other):
            op = (*program.load, *program.run)[place]
            if isinstance(op, TileFence) and op.tiles & tiles == tiles and self._is_old(place):
                yield WiderFence(self.draft.places[place], (engine,))

    def _is_old(self, place: int) -> bool:
        """Whether an instruction is not one that has been added."""
        places = self.draft.places
        return place + 1 == len(places) or places[place + 1] != places[place]

    def wider_resets(self) -> Iterator[Addition]:
        """Fences that reset flags for engines which they don't wait for."""
        program = self.draft.program
        named = {fault.split(" resets ")[0] for order, _ in self._tiles.values() for fault in order.fence_faults}
        for place, op in enumerate((*program.load, *program.run)):
            if isinstance(op, TileFence) and op.reset and (op.label or op.mnemonic) in named and self._is_old(place):
                yield WiderFence(self.draft.places[place], tuple(Engine))


def _watchers(order: HappensBefore, first: TileStep, other: TileStep) -> Iterator[Watcher]:
    """Those with which ``other`` waits for ``first``, or for the next one of its engine that raises the flag."""
    flag, strict = first.effects.flag, int(order.strict)
    raisers = [step for step in order.raisers(other, flag) if first.number <= step.number < other.number]
    last = next((step for step in raisers if step.effects.increments), None)
    if last is None:
        return
    yield Watcher(flag, last.raised_to - strict)
    if last is first:
        for loop, expected, stride in _row_by_row(first, other):
            yield Watcher(flag, expected - strict, loop, stride)


def _in_turn(order: HappensBefore, waits: TileStep, other: TileStep, ahead: Sequence[int]) -> Iterator[Watcher]:
    """Those with which ``waits`` waits for rows of ``other``, which waits for its rows, or for what does: for as many
    as it has done itself, and so many ``ahead`` of that.
    """
    if not order.behind(other) & waits.bit or not other.effects.increments:
        return
    raised = other.raised_to - other.effects.increments - int(order.strict)
    for loop in _loops(waits.op):
        rounds = rounds_of(counted_nest(waits.op), loop)
        stride, rest = divmod(other.effects.increments, rounds)
        if stride and not rest and rounds > 1:
            yield from (Watcher(other.effects.flag, raised + rows * stride, loop, stride) for rows in ahead)


def _row_by_row(first: TileStep, other: TileStep) -> Iterator[tuple[str, int, int]]:
    """For loops of ``other``: from what count of the first's flag on its rounds may begin, and how many more each
    takes, so that each piece of memory has been touched for the last time when it is touched here.
    """
    needs = _needs(first, other)
    if needs is None:
        return
    total = len(needs)
    for loop in _loops(other.op):
        rounds = rounds_of(counted_nest(other.op), loop)
        if rounds < 2 or total % rounds:
            continue
        most = needs.reshape(rounds, -1).max(axis=1)
        bound = _bound(most, first.raised_to)
        if bound is not None:
            yield loop, *bound


def _bound(needs: np.ndarray, highest: int) -> tuple[int, int] | None:
    """The steepest line over the needs of each round that never asks for more than there will be."""
    places = np.flatnonzero(needs > 0)
    rounds = len(needs)
    for stride in range(ceil(int(needs.max()) / max(1, rounds - 1)) + 1, 0, -1):
        expected = int((needs[places] - places * stride).max())
        if expected + (rounds - 1) * stride <= highest:
            return expected, stride
    return None


def _needs(first: TileStep, other: TileStep) -> np.ndarray | None:
    """What the first's flag must have counted to before each round of ``other``; None if it can't tell."""
    pairs = [(a, b) for a, b in product(first.effects.uses, other.effects.uses) if a.footprint.clashes(b.footprint)]
    needs = np.zeros(other.effects.firing.rounds, np.int64)
    rises = np.array(first.effects.firing.rises, np.int64)
    counted = first.raised_to - first.effects.increments
    for ahead, behind in pairs:
        last, begun = _touched(ahead, behind)
        rise = np.searchsorted(rises, last + 1)
        if np.any(rise >= len(rises)):
            return None
        np.maximum.at(needs, begun, counted + rise + 1)
    return needs


def _touched(ahead: Use, behind: Use) -> tuple[np.ndarray, np.ndarray]:
    """For each piece of memory that both touch the last round of the one, and the first of the other."""
    unit = common_unit(ahead, behind)
    low, end = max(ahead.footprint.first, behind.footprint.first), min(ahead.footprint.end, behind.footprint.end)
    last, begun = ahead.last(unit, low, end), behind.first(unit, low, end)
    both = (last >= 0) & (begun >= 0)
    return last[both], begun[both]


def _loops(op: Work) -> list[str]:
    """The loops of an instruction that can hold it."""
    nest = counted_nest(op)
    if nest.alternate is not None:
        return []
    names = [loop.name for loop in nest.loops]
    return [name for name in names[:-1] if name not in op.reduce] if isinstance(op, TensorOp) else names
