"""What convolutions and pools have in common: for each line of a pass, filter row after filter row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from tilesim.rotating.compiler.call import Call, Line, Pass, Spot
from tilesim.rotating.compiler.emitter import At, Writer
from tilesim.rotating.compiler.windows import Span
from tilesim.rotating.isa.model.instructions import Alu, Function
from tilesim.rotating.topology import Topology


@dataclass(frozen=True)
class FilterRow:
    """A row of windows: ``columns`` of them, ``dilation`` words apart, of channels that come by in ``steps``, a block
    of ``block`` words after the other. ``first``: what the ALUs do with the very first.
    """

    columns: int
    dilation: int
    steps: int
    block: int
    units: int
    alu: Alu

    @property
    def rest(self) -> int:
        """Words from the last column of a channel to the first of the next."""
        words = self.block - (self.columns - 1) * self.dilation
        return words % self.units if words < 0 else words

    def clocks(self, topology: Topology) -> int:
        """How many it takes."""
        moves = topology.rotation.moves
        alignment = max(moves(self.rest), 1) - 1
        return self.steps * (1 + (self.columns - 1) * moves(self.dilation) + alignment) - alignment

    def write(self, writer: Writer, data: At, weights: At | None, first: Alu | None = None) -> None:
        """Load a row, and go through its columns and channels; registers take a row of the ``weights`` for each."""
        writer.step(data=data, weights=weights, alu=first or self.alu)
        self._columns(writer, weights)
        if self.steps == 1:
            return
        assert weights is not None
        if self.columns == 1 and len(writer.topology.rotation.route(self.rest)) == 1:
            writer.turned(self.rest, self.alu, weights.plus(1, step=1), self.steps - 1)
            return
        with writer.loop(self.steps - 1) as step:
            channel = weights.plus(self.columns, {step: self.columns})
            writer.turned(self.rest, self.alu, channel)
            self._columns(writer, channel)

    def _columns(self, writer: Writer, weights: At | None) -> None:
        behind = None if weights is None else weights.plus(1, step=1)
        writer.turned(self.dilation, self.alu, behind, self.columns - 1)


class Piece(NamedTuple):
    """Filter rows ``rows`` over each of the rows ``groups`` of a line; at ``weights`` those of the first begin."""

    groups: range
    rows: range
    weights: int | None = None


@dataclass(frozen=True)
class LinePass:
    """A pass over all lines, piece by piece. ``first``: what the ALUs do with the very first row of a window."""

    call: Call
    own: Pass
    row: FilterRow
    pieces: Sequence[Piece]
    first: Alu | None = None

    def inside(self, span: Span) -> list[range]:
        """The filter rows of each piece that lie in the map."""
        return [range(max(rows.start, span.first), min(rows.stop, span.end)) for _, rows, _ in self.pieces]

    def write(self, writer: Writer, span: Span, line: Line) -> None:
        """The sums of some lines, whose loop is there."""
        for piece, rows in zip(self.pieces, self.inside(span), strict=True):
            for part in self._unbroken(rows, line):
                self._piece(writer, piece._replace(rows=part), piece, line, part.start == span.first)

    def _unbroken(self, rows: range, line: Line) -> list[range]:
        """Filter rows whose data follow each other: a ring begins anew behind its last line."""
        ring = self.call.sources[0].ring
        if not ring:
            return [rows] if rows else []
        turns = groupby(rows, lambda row: self._y(line, row) // ring)
        return [range(own[0], own[-1] + 1) for own in (list(alike) for _, alike in turns)]

    def _y(self, line: Line, row: int) -> int:
        """The line of the map that a filter row lies on."""
        window = self.call.task.window
        return line.first * window.strides[0] - window.padding.top + row * window.dilations[0]

    def _piece(self, writer: Writer, piece: Piece, whole: Piece, line: Line, begins: bool) -> None:
        if begins and self.first is not None:
            self._row(writer, self._spot(line, piece), None, self.first)
            piece = piece._replace(rows=piece.rows[1:])
        if not piece.rows:
            return
        rows, spot = self.row.steps * self.row.columns, self._spot(line, piece)
        with writer.loop(len(piece.groups)) as group, writer.loop(len(piece.rows)) as row:
            weights = None
            if piece.weights is not None:
                first = piece.weights + (piece.rows.start - whole.rows.start) * rows
                weights = At(first, {group: self.call.task.window.kernel[0] * rows, row: rows})
            down = self.call.task.window.dilations[0] * self._line_rows
            self._row(writer, spot.plus(0, {group: 1, row: down}), weights)

    @property
    def _line_rows(self) -> int:
        source = self.call.sources[0]
        return self.call.held if source.ring else source.groups

    def _spot(self, line: Line, piece: Piece) -> Spot:
        source = self.call.sources[0]
        return self.call.spot(source, self.own, line, self._y(line, piece.rows.start), piece.groups.start)

    def _row(self, writer: Writer, spot: Spot, weights: At | None, first: Alu | None = None) -> None:
        self.call.wait(writer, spot)
        self.row.write(writer, spot.data, weights, first)


def whole_pass(lines: LinePass, writer: Writer, spans: Sequence[Span], chosen: int) -> None:
    """All sums of some lines at once, and an out for each."""
    for span, line in lines.call.lines(writer, spans):
        lines.write(writer, span, line)
        lines.call.out(writer, lines.own, line, function=Function.REQUANTISE, set=chosen)
