"""When effects are carried out: all tiles of an instruction at once, as soon as nobody is in the way.

An effect may come later than its instruction retires, as long as nobody on its tile who touches its bytes comes in
between; so it waits for its instruction to retire everywhere. Where two instructions wait for each other on different
tiles, the one that retired first is carried out for those tiles where it can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tilesim.tiled.dataflow.cuts import Need, Needs, Piece
from tilesim.tiled.dataflow.meetings import Meetings

MOST_WAITING = 48
"""So many whole effects may wait for others before the first one no longer does."""


class Refused(Exception):
    """The instruction at ``place`` takes a part of what another one sends, whose rest depends on it."""

    def __init__(self, place: int) -> None:
        super().__init__(f"the instruction at {place} takes a part of what another one sends, whose rest depends on it")
        self.place = place


Carry: TypeAlias = Callable[[int, Sequence[int], int, int], None]
"""Carries iterations of an instruction out: its place, tiles, from which to which."""


@dataclass(eq=False)
class Effect:
    """A piece of an instruction, with the tiles where it is through, and when."""

    place: int
    end: int
    when: dict[int, int] = field(default_factory=dict)
    mask: int = 0
    behind: Effect | Need | None = None
    """Who is known to be in the way."""

    def add(self, tile: int, number: int) -> None:
        self.when[tile] = number
        self.mask |= 1 << tile


class Order:
    """Carries pieces out; ``needs`` says what a piece takes of what others send."""

    def __init__(self, meetings: Meetings, needs: Needs, carry: Carry) -> None:
        self._meetings, self._needs, self._carry = meetings, needs, carry
        self._waiting: dict[tuple[int, int], Effect] = {}
        self._whole: dict[tuple[int, int], Effect] = {}
        self._done: dict[int, dict[int, int]] = {}
        self._left: Counter[tuple[int, int]] = Counter()

    def follow(self, pieces: Sequence[Piece]) -> None:
        """Carry out all pieces of a section."""
        left = self._left = Counter((piece.place, piece.end) for piece in pieces)
        for number, (place, tile, end) in enumerate((piece.place, piece.tile, piece.end) for piece in pieces):
            key = place, end
            effect = self._waiting.get(key)
            if effect is None:
                effect = self._waiting[key] = Effect(place, end)
            effect.add(tile, number)
            if len(effect.when) == left[key]:
                self._whole[key] = effect
                self._settle()
                if len(self._whole) > MOST_WAITING:
                    self._begin_somewhere()
        while self._waiting:
            if not self._begin_somewhere():
                raise Refused(next(iter(self._waiting.values())).place)

    def _settle(self) -> None:
        """Carry out what nobody is in the way of."""
        moved = True
        while moved:
            moved = False
            for effect in [*self._whole.values()]:
                if not self._is_held(effect) and not self._held(effect):
                    self._finish(effect, effect.mask)
                    moved = True

    def _begin_somewhere(self) -> bool:
        """Carry out, wherever that can be, what is the first on one of its tiles; False if nothing can be."""
        for effect in sorted(self._waiting.values(), key=lambda effect: min(effect.when.values())):
            if free := effect.mask & ~self._held(effect):
                self._finish(effect, free)
                self._settle()
                return True
        return False

    def _is_held(self, effect: Effect) -> bool:
        """Whether who is known to be in the way still is."""
        behind = effect.behind
        if isinstance(behind, Need):
            return self._lacks(behind)
        return behind is not None and bool(behind.mask & effect.mask)

    def _held(self, effect: Effect) -> int:
        """The tiles where somebody is in the way."""
        held, when = 0, effect.when
        for other in self._waiting.values():
            shared = other.mask & effect.mask & ~held
            if shared and other is not effect and self._meetings.clash(other.place, effect.place):
                for tile in _bits(shared):
                    if other.when[tile] < when[tile]:
                        held |= 1 << tile
                        effect.behind = other
        for tile in _bits(effect.mask & ~held):
            for need in self._needs(Piece(effect.place, tile, effect.end)):
                if self._lacks(need):
                    held |= 1 << tile
                    effect.behind = need
        return held

    def _lacks(self, need: Need) -> bool:
        return self._done.get(need.place, {}).get(need.tile, 0) < need.end

    def _finish(self, effect: Effect, mask: int) -> None:
        done = self._done.setdefault(effect.place, {})
        tiles = [*_bits(mask)]
        for first in sorted({done.get(tile, 0) for tile in tiles}):
            if first < effect.end:
                self._carry(effect.place, [tile for tile in tiles if done.get(tile, 0) == first], first, effect.end)
        done.update((tile, max(effect.end, done.get(tile, 0))) for tile in tiles)
        effect.mask &= ~mask
        effect.behind = None
        for tile in tiles:
            del effect.when[tile]
        self._left[effect.place, effect.end] -= len(tiles)
        if not effect.mask:
            self._whole.pop((effect.place, effect.end), None)
            del self._waiting[effect.place, effect.end]


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
