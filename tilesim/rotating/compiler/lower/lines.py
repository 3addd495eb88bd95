"""What convolutions and pools have in common: for each line of a pass, filter row after filter row."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.rotating.compiler.call import Call, Pass
from tilesim.rotating.compiler.emitter import At, Writer
from tilesim.rotating.compiler.windows import Span
from tilesim.rotating.isa.model.instructions import Alu, Function


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


@dataclass(frozen=True)
class LinePass:
    """A pass over all lines: ``groups`` are the rows of a line that it reads, ``weights`` is where its rows begin, if
    it has any. ``first``: what the ALUs do with the very first row of a window.
    """

    call: Call
    own: Pass
    row: FilterRow
    groups: range
    weights: int | None
    first: Alu | None = None

    def write(self, writer: Writer, span: Span, **out: object) -> None:
        """Some lines, and an out for each."""
        with writer.loop(span.lines) as line:
            top = span.line * self.call.task.window.strides[0] - self.call.task.window.padding.top
            source = self.call.sources[0]
            down = {line: self.call.task.window.strides[0] * source.groups}
            first = span.first if self.first is None else min(span.first + 1, span.end)
            if first > span.first:
                self._row(writer, At(source.row + self._rows(top, span.first), down), None, self.first)
            if span.end > first:
                self._rows_of(writer, At(source.row + self._rows(top, first), down), first, span.end)
            self.call.out(writer, self.own, span.line, line, function=Function.REQUANTISE, **out)

    def _rows(self, top: int, filter_row: int) -> int:
        """Rows of the map before those of a filter row."""
        window, source = self.call.task.window, self.call.sources[0]
        return (top + filter_row * window.dilations[0]) * source.groups + self.groups.start

    def _rows_of(self, writer: Writer, data: At, first: int, end: int) -> None:
        window, source = self.call.task.window, self.call.sources[0]
        rows = self.row.steps * self.row.columns
        with writer.loop(len(self.groups)) as group, writer.loop(end - first) as row:
            weights = None
            if self.weights is not None:
                weights = At(self.weights + first * rows, {group: window.kernel[0] * rows, row: rows})
            self._row(writer, data.plus(0, {group: 1, row: window.dilations[0] * source.groups}), weights)

    def _row(self, writer: Writer, data: At, weights: At | None, first: Alu | None = None) -> None:
        self.call.wait(writer, self.call.sources[0], data)
        self.row.write(writer, data, weights, first)
