"""A layer with everything that its instructions are made from: where its maps stand, and its rows of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from tilesim.network.graph import Network, Node
from tilesim.rotating.compiler.emitter import At, Index, Moves, Writer
from tilesim.rotating.compiler.task import Task
from tilesim.rotating.compiler.weights import Rows
from tilesim.rotating.compiler.windows import Span
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
    """A map from ``row`` of the data RAM on, all of it, or in a ``ring`` of so many lines. Of what comes from the host,
    DMA in has written ``before`` rows before it comes, in a ring before it comes for each pass. Of what leaves for the
    host from a ring of so many rows, row by row, DMA out has sent ``left`` rows before.
    """

    layout: Layout
    row: int
    before: tuple[int, ...] = ()
    ring: int = 0
    pitch: int = 0
    """Rows that come for a line of a ring, with those of other rings."""
    left: int = 0
    all_rows: int = 0
    """Of a line, where the map is a stripe of another one, whose lines it stands in."""

    @property
    def stripe(self) -> Stripe:
        return self.layout.stripes[0]

    @property
    def groups(self) -> int:
        """Rows from a line to the next."""
        return self.all_rows or self.layout.line_rows

    @property
    def span(self) -> int:
        """Rows from its first to its last."""
        return (self.layout.height - 1) * self.groups + self.layout.line_rows

    def stripe_of(self, layout: Layout, rows: int) -> Placed:
        """A stripe of it, behind so many rows of a line."""
        before = tuple(came + rows for came in self.before)
        return Placed(layout, self.row + rows, before, all_rows=self.layout.line_rows)


class Line(NamedTuple):
    """An output line: the first that is made in a loop, which makes one every ``lines`` lines."""

    first: int
    loop: Index
    lines: int


class Spot(NamedTuple):
    """A row of a map, and how many rows DMA in has written once it is there; None if it does not come from it."""

    data: At
    came: At | None

    def plus(self, rows: int, moves: Moves) -> Spot:
        return Spot(self.data.plus(rows, moves), None if self.came is None else self.came.plus(rows, moves))


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
        """The blocks of units at work: the first, and how many from there on; of those between some may be idle."""
        held = np.flatnonzero(np.array(self.made) >= 0)
        if len(held) == len(self.made):
            return 0, len(held)
        gaps = np.diff(np.append(held, held[0] + len(self.made)))
        last = int(np.argmax(gaps))
        return int(held[(last + 1) % len(held)]), len(self.made) + 1 - int(gaps[last])


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
    ahead: bool = True
    """Whether rings have room for lines that come or leave meanwhile."""
    partial: int = -1
    """From which row on sums stand that are not whole, if there are any."""
    places: tuple[PartPlace, ...] = ()
    sources: tuple[Placed, ...] = ()
    target: Placed | None = None
    sets: Iterator[int] = field(default_factory=lambda: cycle((0, 1)))
    """The sets into which parameters are fetched, in turn."""
    started: list[int] = field(default_factory=list)
    """Outs issued when each pass begins."""
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
        """Begin a pass: name the words that it makes."""
        self.started.append(writer.outs)
        (first, count), units = own.used, self.units
        offset = (units.offset + first * units.block) % self.topology.units.count
        columns = self.task.window.output[1]
        writer.control(Mask, offset=offset, block=units.block, stride=self.stride, count=columns, blocks=count)

    @property
    def period(self) -> int:
        """Lines after which all rings begin anew."""
        stride = self.task.window.strides[0]
        rings = [source.ring // stride for source in self.sources if source.ring]
        if self.target is not None and self.target.ring:
            rings.append(self.target.ring)
        return lcm(*rings)

    @property
    def held(self) -> int:
        """Rows of a line that a pass reads."""
        return self.inputs[0].line_rows if self.task.family == "mixing" else 1

    def group(self, own: Pass) -> int:
        """The row of a line that a pass reads, where it reads one."""
        if self.task.family == "elements":
            return own.row
        return (own.row * self.parts + own.slot) // (self.task.made[2] // self.task.maps[0][2])

    def lines(self, writer: Writer, spans: Sequence[Span]) -> Iterator[tuple[Span, Line]]:
        """All output lines, in loops; what is written for each stands in them."""
        period = self.period
        for span in spans:
            whole, rest = divmod(span.lines, period)
            for turns, first, count in ((whole, span.line, period), (1, span.line + whole * period, rest)):
                if not turns * count:
                    continue
                with writer.loop(turns) as loop:
                    for line in range(first, first + count):
                        yield span, Line(line, loop, period)

    def spot(self, source: Placed, own: Pass, line: Line, y: int, group: int) -> Spot:
        """Row ``group`` of line ``y`` of a map, which a pass reads for an output line."""
        down = line.lines * self.task.window.strides[0]
        if self.task.family == "elements" and source.layout.height < self.output.height:
            y = down = 0  # one line that goes with all
        if not source.ring:
            row, moves = y * source.groups + group, {line.loop: down * source.groups}
            came = At(source.before[0] + row + 1, moves) if source.before else None
            return Spot(At(source.row + row, moves), came)
        within = group if self.task.family == "mixing" else 0
        came = At(source.before[self.number(own)] + y * source.pitch + within + 1, {line.loop: down * source.pitch})
        return Spot(At(source.row + y % source.ring * self.held + within), came)

    def number(self, own: Pass) -> int:
        return self.passes.index(own)

    def wait(self, writer: Writer, spot: Spot) -> None:
        """Hold the array until a row has come."""
        if spot.came is not None:
            writer.wait(Counter.DMA_IN, spot.came.row, spot.came.moves)

    def out(self, writer: Writer, own: Pass, line: Line, **fields: Any) -> None:
        """Write a line of a pass; the first pass of a row fills what none of them makes."""
        target = self.target
        assert target is not None
        place = Place(self.parts, own.slot) if self.stride > 1 else None
        if own.slot == 0:
            fields |= {"outside": "fill", "fill": self.output.fill}
        row = At(target.row + line.first * target.groups + own.row, {line.loop: line.lines * target.groups})
        if target.ring:
            number = own.row * target.layout.height + line.first
            gone = max(0, target.left + number - target.ring + 1)  # a few more than it must be, in the very first turns
            writer.wait(Counter.DMA_OUT, gone, {line.loop: line.lines})
            row = At(target.row + number % target.ring)
        writer.out(row, place=place, clear="zero", **fields)


@dataclass(frozen=True)
class Traits:
    """``parts`` are the rows of the weight RAM that a call needs, ``lower`` writes its instructions. ``faults``: why
    the chip can't run a node, in sentences without their subject.
    """

    parts: Callable[[Call], Sequence[Part]]
    lower: Callable[[Call, Writer], None]
    faults: Callable[[Network, Node, Topology], Iterator[str]] = lambda *_: iter(())
    on_map: bool = False
