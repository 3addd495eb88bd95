"""A layer with everything that its instructions are made from: where its maps stand, and its rows of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import numpy as np

from tilesim.network.graph import Network, Node
from tilesim.rotating.compiler.emitter import At, Index, Moves, Writer
from tilesim.rotating.compiler.task import Task
from tilesim.rotating.compiler.weights import Rows
from tilesim.rotating.isa.model.instructions import Counter, Mask, Parameters, Place, Set
from tilesim.rotating.isa.model.program import Layout, Stripe
from tilesim.rotating.topology import Topology


@dataclass(frozen=True)
class Part:
    """What a pass needs of the weight RAM: ``weights``, and behind them ``parameters`` or a table."""

    weights: Rows
    parameters: Rows
    clocks: int = 0
    """About as long as it is needed."""

    @property
    def rows(self) -> int:
        return len(self.weights) + len(self.parameters)

    @property
    def data(self) -> Rows:
        return np.concatenate([self.weights, self.parameters])


@dataclass(frozen=True)
class PartPlace:
    """A part from ``row`` of the weight RAM on; it is there once DMA in has written ``arrived`` rows."""

    row: int
    parameters: int
    arrived: int = 0


@dataclass(frozen=True)
class Placed:
    """A map from ``row`` of the data RAM on; an input has come once DMA in has written as many rows as it has, after
    the first ``before``.
    """

    layout: Layout
    row: int
    before: int | None = None

    @property
    def stripe(self) -> Stripe:
        return self.layout.stripes[0]

    @property
    def groups(self) -> int:
        return self.layout.line_rows

    def at(self, line: int = 0, moves: Moves | None = None) -> At:
        """The first row of a line."""
        return At(self.row + line * self.groups, moves or {})


@dataclass(frozen=True)
class Pass:
    """What is made at once of each line: row ``row`` of it, of its blocks those of part ``slot``, which hold the
    channels ``made``.
    """

    row: int
    slot: int
    made: tuple[int, ...]

    @property
    def used(self) -> tuple[int, int]:
        """The blocks of units at work: the first, and how many from there on."""
        held = np.array(self.made) >= 0
        if held.all():
            return 0, len(held)
        first = int(np.flatnonzero(held & ~np.roll(held, 1))[0])
        return first, int(held.sum())


@dataclass
class Call:
    """A task in the making."""

    task: Task
    topology: Topology
    inputs: tuple[Layout, ...]
    output: Layout
    parts: int
    most_rows: int | None = None
    """Of a part, if there is a limit."""
    partial: int = -1
    """From which row on sums stand that are not whole, if there are any."""
    places: tuple[PartPlace, ...] = ()
    sources: tuple[Placed, ...] = ()
    target: Placed | None = None
    sets: Iterator[int] = field(default_factory=lambda: cycle((0, 1)))
    """The sets into which parameters are fetched, in turn."""
    begun: Callable[[int], None] = lambda _number: None
    """Is told when a pass begins."""

    @property
    def up(self) -> bool:
        return self.topology.rotation.direction == "up"

    @property
    def made(self) -> Stripe:
        """How what is made stands."""
        return self.output.stripes[0]

    @property
    def units(self) -> Stripe:
        """The blocks of units that make it, before they are cut in parts."""
        made = self.made
        return Stripe(made.first_column, made.columns, made.block * self.parts, made.offset, made.channels)

    @property
    def passes(self) -> list[Pass]:
        """In order."""
        everything = [
            Pass(row, slot, channels[slot :: self.parts])
            for row, channels in enumerate(self.made.channels)
            for slot in range(self.parts)
        ]
        return [own for own in everything if own.slot == 0 or max(own.made) >= 0]

    @property
    def stride(self) -> int:
        """Words from one output to the next."""
        window = self.task.window
        return window.strides[1] if window.output[1] > 1 else 1

    @property
    def output_units(self) -> int:
        """Units with a word of an output, in a cycle in which all work: of as many channels as a pass makes of all."""
        return self._together * self.made.columns

    @property
    def used_units(self) -> int:
        """Units of blocks that make one."""
        return self._together * self.units.block

    @property
    def _together(self) -> int:
        return -(-self.output.depth // len(self.passes))

    def words(self, dtype: np.dtype[Any]) -> str:
        """How words hold numbers of a type: those of 16 bits hold bytes without a sign as they are."""
        return "unsigned" if dtype.kind == "u" and self.topology.word_bytes == dtype.itemsize else "signed"

    def registers(self, writer: Writer, **fields: Any) -> None:
        """Set the control registers for the layer."""
        writer.control(Set, data=self.words(self.task.inputs[0].dtype), **fields)

    def begin(self, writer: Writer, number: int) -> None:
        """From here on a part is needed."""
        self.begun(number)
        if self.places[number].arrived:
            writer.wait(Counter.DMA_IN, self.places[number].arrived)

    def fetch(self, writer: Writer, number: int, table: bool = False) -> int:
        """Have the parameters of a pass fetched; the set in which they will be."""
        self.begin(writer, number)
        place = self.places[number]
        chosen = 0 if table else next(self.sets)
        writer.write(Parameters, row=writer.rows(At(place.parameters)), set=chosen, table=table)
        return chosen

    def mask(self, writer: Writer, own: Pass) -> None:
        """Name the words that a pass makes."""
        (first, count), units = own.used, self.units
        offset = (units.offset + first * units.block) % self.topology.units.count
        columns = self.task.window.output[1]
        writer.control(Mask, offset=offset, block=units.block, stride=self.stride, count=columns, blocks=count)

    def out(self, writer: Writer, own: Pass, line: int, lines: Index, **fields: Any) -> None:
        """Write a line of a pass; the first pass of a row fills what none of them makes."""
        assert self.target is not None
        row = self.target.at(line, {lines: self.target.groups}).plus(own.row)
        place = Place(self.parts, own.slot) if self.stride > 1 else None
        if own.slot == 0:
            fields |= {"outside": "fill", "fill": self.output.fill}
        writer.out(row, place=place, clear="zero", **fields)

    def wait(self, writer: Writer, source: Placed, row: At) -> None:
        """Hold the array until a row of an input has come."""
        if source.before is not None:
            writer.wait(Counter.DMA_IN, source.before + row.row - source.row + 1, row.moves)


@dataclass(frozen=True)
class Traits:
    """``parts`` are the rows of the weight RAM that a call needs, ``lower`` writes its instructions. ``faults``: why
    the chip can't run a node, in sentences without their subject.
    """

    parts: Callable[[Call], Sequence[Part]]
    lower: Callable[[Call, Writer], None]
    faults: Callable[[Network, Node, Topology], Iterator[str]] = lambda *_: iter(())
    on_map: bool = False
