"""The array's instructions as they are written: nests of loops, and addresses that move with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from typing import Any

from tilesim.rotating.isa.model.instructions import (
    Alu,
    Counter,
    End,
    Function,
    Instruction,
    Loop,
    Mask,
    Out,
    Queue,
    Rows,
    Set,
    Step,
    Sync,
)
from tilesim.rotating.topology import RAW_ROWS, Topology


@dataclass(frozen=True, eq=False)
class Index:
    """The counter of a loop that is being written."""


Moves = Mapping[Index, int]
"""How far an address goes in each turn of loops."""


@dataclass(frozen=True)
class At:
    """A row, and how it moves."""

    row: int
    moves: Moves = field(default_factory=dict)
    step: int = 0

    def plus(self, rows: int, moves: Moves | None = None, step: int = 0) -> At:
        """That many rows further on, which moves with more loops."""
        both = dict(self.moves)
        for index, move in (moves or {}).items():
            both[index] = both.get(index, 0) + move
        return At(self.row + rows, both, self.step + step)


@dataclass
class Writer:
    """Writes instructions of one array; ``label`` and ``layer`` go into each."""

    topology: Topology
    label: str = ""
    layer: int = -1
    instructions: list[Instruction] = field(default_factory=list)
    outs: int = 0
    """Outs that will have been issued."""
    written: int = 0
    """Rows that these will have written."""
    depth: int = 0
    """Of the deepest nest."""
    _loops: list[tuple[Index, int]] = field(default_factory=list)
    _controls: dict[type[Instruction], Instruction] = field(default_factory=dict)
    """What control registers and the mask were set to last."""
    _met: dict[Counter, int] = field(default_factory=dict)
    """What counters have come to behind the loops that are whole."""
    _awaited: dict[Counter, int] = field(default_factory=dict)
    """What they will have come to behind the loops around."""
    _number: int = 0

    def begin(self, label: str, layer: int) -> None:
        """What follows belongs to a layer."""
        self.label, self.layer, self._number = label, layer, 0

    def write(self, kind: type[Any], **fields: Any) -> None:
        self.instructions.append(kind(label=f"{self.label}.{self._number}", layer=self.layer, **fields))
        self._number += 1

    @contextmanager
    def loop(self, count: int) -> Iterator[Index]:
        """What is written inside is carried out ``count`` times; where that is once, there is no loop."""
        index = Index()
        if count == 1:
            yield index
            return
        self.write(Loop, count=count)
        self._loops.append((index, count))
        self.depth = max(self.depth, len(self._loops))
        yield index
        self._loops.pop()
        self.write(End)
        self._meet()

    def control(self, kind: type[Set | Mask], **fields: Any) -> None:
        """Set control registers or the mask, unless they are known to be set so."""
        now = kind(**fields)
        if self._controls.get(kind) == now:
            return
        self.write(kind, **fields)
        self._controls[kind] = now
        if self._loops:  # in the next turn what stands here comes after the rest
            del self._controls[kind]

    def rows(self, at: At | None, repeat: int = 1) -> Rows | None:
        """An address, as instructions have it that do it ``repeat`` times."""
        return None if at is None else Rows(at.row, self._strides(at.moves), at.step if repeat > 1 else 0)

    def _strides(self, moves: Moves) -> tuple[int, ...]:
        strides = [moves.get(index, 0) for index, _ in self._loops]
        while strides and strides[-1] == 0:
            strides.pop()
        return tuple(strides)

    def step(self, *, data: At | None = None, weights: At | None = None, repeat: int = 1, **fields: Any) -> None:
        if repeat:
            rows = {"data": self.rows(data, repeat), "weights": self.rows(weights, repeat)}
            self.write(Step, **rows, repeat=repeat, **fields)

    def rotate(self, distances: tuple[int, ...]) -> None:
        """Rotations of these distances, with nothing else."""
        for distance, alike in groupby(distances):
            self.step(rotate=distance, repeat=len(list(alike)))

    def turned(self, words: int, alu: Alu, weights: At | None = None, repeat: int = 1) -> None:
        """``repeat`` times: rotate by ``words`` in the fewest rotations, and let the ALUs work with the last."""
        if not repeat:
            return
        *before, last = self.topology.rotation.route(words) or (0,)
        if not before:
            self.step(rotate=last, alu=alu, weights=weights, repeat=repeat)
            return
        with self.loop(repeat) as index:
            self.rotate(tuple(before))
            inside = None if weights is None else At(weights.row, {**weights.moves, index: weights.step})
            self.step(rotate=last, alu=alu, weights=inside)

    def out(self, row: At, *, data: At | None = None, **fields: Any) -> None:
        times = prod(count for _, count in self._loops)
        self.outs += times
        self.written += times * (RAW_ROWS if fields.get("function") is Function.RAW else 1)
        self.write(Out, row=self.rows(row), data=self.rows(data), **fields)

    def wait(self, until: Counter, count: int, moves: Moves | None = None) -> None:
        """Hold the array until a counter is there, unless it is already."""
        turns = dict(self._loops)
        most = count + sum(move * (turns[index] - 1) for index, move in (moves or {}).items() if index in turns)
        if most <= self._met.get(until, 0):
            return
        self.write(Sync, unit=Queue.ARRAY, until=until, count=count, strides=self._strides(moves or {}))
        self._awaited[until] = max(most, self._awaited.get(until, 0))
        self._meet()

    def _meet(self) -> None:
        """Outside of loops, all that was waited for has come."""
        if not self._loops:
            self._met.update(self._awaited)
