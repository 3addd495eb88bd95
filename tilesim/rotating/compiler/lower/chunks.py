"""Passes whose weights the weight RAM has no room for: chunk by chunk, with sums that wait in the data RAM as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilesim.errors import CapacityError
from tilesim.rotating.compiler.call import Call, Line
from tilesim.rotating.compiler.emitter import At, Writer
from tilesim.rotating.compiler.lower.lines import FilterRow, LinePass, Piece
from tilesim.rotating.compiler.windows import Span
from tilesim.rotating.isa.model.instructions import Alu, Function
from tilesim.rotating.topology import RAW_ROWS


def chunks(call: Call, row: FilterRow) -> list[range]:
    """Filter rows over rows of a line, all of the first row of a line first, that go into the weight RAM together.

    Raises:
        CapacityError: a single one does not go in.
    """
    units = call.inputs[0].line_rows * call.task.window.kernel[0]
    each, parameters = row.steps * row.columns, call.topology.parameter_rows
    most = units if call.most_rows is None else (call.most_rows - parameters) // each
    if most < 1:
        raise CapacityError(
            f"{call.task.title} must have filter rows whose weights fit half of the "
            f"{call.topology.weight_ram.rows:,} rows of the weight RAM, and one has {each:,}, besides {parameters} of "
            f"parameters"
        )
    count = -(-units // most)
    return [range(units * k // count, units * (k + 1) // count) for k in range(count)]


def pieces(call: Call, row: FilterRow, chunk: range, place: int) -> list[Piece]:
    """A chunk as pieces: rows of a line of which it has all filter rows, and what is before and behind."""
    kernel, first = call.task.window.kernel[0], call.places[place].row
    each = row.steps * row.columns
    made, at = list[Piece](), chunk.start
    while at < chunk.stop:
        group, start = divmod(at, kernel)
        many = (chunk.stop - at) // kernel if start == 0 else 0
        rows = range(kernel) if many else range(start, min(kernel, start + chunk.stop - at))
        made.append(Piece(range(group, group + max(1, many)), rows, first + (at - chunk.start) * each))
        at += max(1, many) * len(rows)
    return made


@dataclass(frozen=True)
class PartialPass:
    """A pass in chunks: ``lines`` has the sums of each, ``places`` the number of its part."""

    lines: Sequence[LinePass]
    places: range

    def write(self, writer: Writer) -> None:
        call, last = self.lines[0].call, len(self.lines) - 1
        for number, (lines, place) in enumerate(zip(self.lines, self.places, strict=True)):
            chosen = call.fetch(writer, place) if number == last else -1
            if number < last:
                call.begin(writer, place)
            for span in call.task.window.spans:
                self._span(writer, number, lines, span, chosen)

    def _span(self, writer: Writer, number: int, lines: LinePass, span: Span, chosen: int) -> None:
        """Sums that wait are taken up, added to, and put back, or, in the end, converted."""
        call, last = lines.call, len(self.lines) - 1
        if 0 < number < last and not any(lines.inside(span)):
            return
        for _, line in call.lines(writer, [span]):
            if number:
                self._restore(writer, line)
            lines.write(writer, span, line)
            if number == last:
                call.out(writer, lines.own, line, function=Function.REQUANTISE, set=chosen)
            else:
                writer.out(self._row(line), function=Function.RAW, outside="fill", fill=0, clear="zero")

    def _restore(self, writer: Writer, line: Line) -> None:
        for plane in range(RAW_ROWS):
            writer.step(data=self._row(line).plus(plane), alu=Alu.PLANE, plane=plane)

    def _row(self, line: Line) -> At:
        return At(self.lines[0].call.partial + line.first * RAW_ROWS, {line.loop: line.lines * RAW_ROWS})
