"""What convolutions and pools have in common: for each line of a pass, filter row after filter row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tilesim.rotating.compiler.call import Call, Pass
from tilesim.rotating.compiler.emitter import At, Index, Writer
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

    def write(self, writer: Writer, span: Span, line: Index) -> None:
        """The sums of some lines, whose loop is there."""
        for piece, rows in zip(self.pieces, self.inside(span), strict=True):
            self._piece(writer, piece._replace(rows=rows), piece, span, line)

    def _piece(self, writer: Writer, piece: Piece, whole: Piece, span: Span, line: Index) -> None:
        if piece.rows and self.first is not None:
            self._row(writer, self._data(span, line, piece.groups.start, piece.rows.start), None, self.first)
            piece = piece._replace(rows=piece.rows[1:])
        if not piece.rows:
            return
        rows = self.row.steps * self.row.columns
        data = self._data(span, line, piece.groups.start, piece.rows.start)
        with writer.loop(len(piece.groups)) as group, writer.loop(len(piece.rows)) as row:
            weights = None
            if piece.weights is not None:
                first = piece.weights + (piece.rows.start - whole.rows.start) * rows
                weights = At(first, {group: self.call.task.window.kernel[0] * rows, row: rows})
            down = self.call.task.window.dilations[0] * self.call.sources[0].groups
            self._row(writer, data.plus(0, {group: 1, row: down}), weights)

    def _data(self, span: Span, line: Index, group: int, row: int) -> At:
        """Where the data of a filter row stand for the first line of a span."""
        window, source = self.call.task.window, self.call.sources[0]
        top = span.line * window.strides[0] - window.padding.top + row * window.dilations[0]
        return At(source.row + top * source.groups + group, {line: window.strides[0] * source.groups})

    def _row(self, writer: Writer, data: At, weights: At | None, first: Alu | None = None) -> None:
        self.call.wait(writer, self.call.sources[0], data)
        self.row.write(writer, data, weights, first)


def whole_pass(lines: LinePass, writer: Writer, spans: Sequence[Span], chosen: int) -> None:
    """All sums of some lines at once, and an out for each."""
    for span in spans:
        with writer.loop(span.lines) as line:
            lines.write(writer, span, line)
            lines.call.out(writer, lines.own, span.line, line, function=Function.REQUANTISE, set=chosen)
