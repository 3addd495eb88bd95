"""What may be added to a program so that one thing waits for another: waits, turns and fences; nothing is moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

from tilesim.tiled.isa.model.fields import Engine, Watcher
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, Record, ScalarFence, TileFence, Work
from tilesim.tiled.isa.model.issue import begin_of, record_of
from tilesim.tiled.isa.model.program import Program

Fences: TypeAlias = tuple[TileFence | ScalarFence, ...]
"""Instructions that are issued one behind the other."""


class AddedWait(Struct, frozen=True):
    """The instruction at ``place`` has a watcher more; or, if it has one of that flag and loop, that asks for more.
    ``in_turn``: for one that waits for it row by row already.
    """

    place: int
    watcher: Watcher
    in_turn: bool = False

    def changed(self, op: Instruction) -> Instruction:
        """The instruction with it."""
        assert isinstance(op, Work)
        mine = self.watcher
        like = [k for k, old in enumerate(op.wait) if (old.flag, old.loop, old.stride) == _like(mine)]
        if not like:
            return replace(op, wait=(*op.wait, mine))
        [k, *_] = like
        more = mine._replace(expected=max(mine.expected, op.wait[k].expected))
        return replace(op, wait=(*op.wait[:k], more, *op.wait[k + 1 :]))


class AddedTurn(Struct, frozen=True):
    """The infeed at ``place`` waits for so many transfers to have passed its stop."""

    place: int
    turn: int

    def changed(self, op: Instruction) -> Instruction:
        """The instruction with it."""
        assert isinstance(op, Infeed)
        return replace(op, turn=max(op.turn, self.turn))


class WiderFence(Struct, frozen=True):
    """The tile fence at ``place`` waits for more ``engines``."""

    place: int
    engines: tuple[Engine, ...]

    def changed(self, op: Instruction) -> Instruction:
        """The instruction with it."""
        assert isinstance(op, TileFence)
        return replace(op, idle=tuple(engine for engine in Engine if engine in {*op.idle, *self.engines}))


class AddedFence(Struct, frozen=True):
    """``fences`` stand before the instruction at ``place``: one, or that of a tile and the controller's behind it."""

    place: int
    fences: Fences


class EndedRecord(Struct, frozen=True):
    """The record at ``place`` has only so many ``parts``, as fences stand before the next one: others stand alone."""

    place: int
    parts: int

    def changed(self, op: Instruction) -> Instruction:
        """The header with it."""
        assert isinstance(op, Record)
        return replace(op, parts=min(op.parts, self.parts))


Addition: TypeAlias = AddedWait | AddedTurn | WiderFence | AddedFence
"""One wait, or one fence; ``place`` is that of an instruction among all of the program's, as it was before."""


def _like(watcher: Watcher) -> tuple[object, ...]:
    return watcher.flag, watcher.loop, watcher.stride


class Draft(Struct, frozen=True, eq=False, dict=True):
    """A program and what is added to it."""

    original: Program
    additions: frozenset[Addition] = frozenset()

    def plus(self, addition: Addition) -> Draft:
        """With one more."""
        return Draft(self.original, self.additions | {addition})

    def minus(self, addition: Addition) -> Draft:
        """With one less."""
        return Draft(self.original, self.additions - {addition})

    @property
    def listed(self) -> list[Addition]:
        """The additions in the order of the program."""
        return sorted(self.additions, key=lambda addition: (addition.place, repr(addition)))

    @property
    def changes(self) -> list[Addition | EndedRecord]:
        """The additions, and what they make of records, in the order of the program."""
        return sorted([*self.listed, *self._ended], key=lambda change: change.place)

    @property
    def _ended(self) -> Iterator[EndedRecord]:
        ops = (*self.original.load, *self.original.run)
        for addition in self.listed:
            head = record_of(ops, addition.place) if isinstance(addition, AddedFence) else None
            if head is not None:
                yield EndedRecord(head, addition.place - head - 1)

    @cached_property
    def program(self) -> Program:
        """The program with the additions."""
        original = self.original
        load = tuple(op for _, op in self._placed(original.load, 0))
        run = tuple(op for _, op in self._placed(original.run, len(original.load)))
        return replace(original, load=load, run=run)

    @cached_property
    def places(self) -> Sequence[int]:
        """For each instruction of the new program the place that it had in the old one; a fence that has been added has
        that of the instruction behind it.
        """
        original = self.original
        both = ((original.load, 0), (original.run, len(original.load)))
        return [place for ops, first in both for place, _ in self._placed(ops, first)]

    @cached_property
    def _here(self) -> Mapping[int, list[Addition | EndedRecord]]:
        here: dict[int, list[Addition | EndedRecord]] = defaultdict(list)
        for change in self.changes:
            here[change.place].append(change)
        return here

    def _placed(self, ops: Collection[Instruction], first: int) -> Iterator[tuple[int, Instruction]]:
        for place, op in enumerate(ops, first):
            yield from ((place, each) for each in with_additions(op, self._here.get(place, ())))


def with_additions(op: Instruction, additions: Iterable[Addition | EndedRecord]) -> list[Instruction]:
    """What stands in the place of an instruction: the fences before it, and itself, changed or not."""
    fences: list[Instruction] = []
    changed = op
    for addition in additions:
        if isinstance(addition, AddedFence):
            fences += [replace(fence, layer=op.layer) for fence in addition.fences]
        else:
            changed = addition.changed(changed)
    return [*fences, changed]


def before(program: Program, place: int) -> int:
    """Where fences go that are to stand before an instruction: in front of what starts its broadcast, too, or of the
    header of its record; but before another than the first sub-instruction they end the record.
    """
    begin = begin_of((*program.load, *program.run), place)
    return begin if begin == place - 1 else place


def controller_fence(program: Program, place: int, tiles: int, engine: Engine) -> Fences:
    """Fences that hold the controller before the instruction at ``place`` until an engine of ``tiles`` has drained.

    The counter may stand above 0 there. It does afterwards, too, so that no fence behind these counts anything else.
    """
    ahead = (*program.load, *program.run)[:place]
    left = sum(op.increment * op.tiles.bit_count() for op in ahead if isinstance(op, TileFence))
    left -= sum(op.count for op in ahead if isinstance(op, ScalarFence))
    each = max(0, left) + 1
    count = each * tiles.bit_count()
    return TileFence(tiles=tiles, idle=(engine,), increment=each), ScalarFence(count=count)
