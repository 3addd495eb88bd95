"""What stands in the rows of both RAMs as a program goes on: tensors' lines, and rows that are there before the run."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tilesim.machines.motion import NONE, MovingRows
from tilesim.rotating.isa.model.instructions import Queue, Ram, ReadHostMemory
from tilesim.rotating.isa.model.program import Layout, Program, Stripe, TensorPlace
from tilesim.rotating.isa.walk import queued
from tilesim.rotating.layout import rows_in_words, sources
from tilesim.rotating.topology import RAW_ROWS

MOST_VALUED_UNITS = 32
"""Of rows with more words, nobody would read them."""
Row = tuple[str, int, int, int]
"""What it is of, the line, the map of its words and where its values are, as in :class:`MovingRows`."""


@dataclass
class Maps:
    """Which words of a row are which elements: those of the layouts that rows have."""

    units: int
    stripes: list[tuple[Layout, int, Stripe]] = field(default_factory=list)
    """Each map's layout, row of a line and stripe."""
    places: dict[tuple[Layout, int], int] = field(default_factory=dict)

    def of(self, layout: Layout, row: int) -> tuple[int, int]:
        """The line of a row of a tensor, and its map."""
        line, within = divmod(row, layout.line_rows)
        if (layout, within) not in self.places:
            self.places[layout, within] = len(self.stripes)
            self.stripes.append((layout, within, _stripe(layout, within)))
        return line, self.places[layout, within]

    def arrays(self) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        """The columns of :class:`MovingRows` that have an element a map."""
        held = [sources(layout, self.units) for layout, _, _ in self.stripes]
        rows = [(columns[k], channels[k]) for (columns, channels), (_, k, _) in zip(held, self.stripes, strict=True)]
        shape = (len(rows), self.units)
        return {
            "column": np.array([column for column, _ in rows], np.int64).reshape(shape),
            "channel": np.array([channel for _, channel in rows], np.int64).reshape(shape),
            "block": np.array([stripe.block for _, _, stripe in self.stripes], np.int64),
            "offset": np.array([stripe.offset for _, _, stripe in self.stripes], np.int64),
        }


def _stripe(layout: Layout, within: int) -> Stripe:
    """The one that a row of a line is of."""
    return [stripe for stripe in layout.stripes for _ in stripe.channels][within]


class RowContents:
    """Rows as the array finds them: what DMA brings is there when the array has awaited it, and what the output unit
    writes when it is issued. For a program whose syncs order all that must be, that is what the array reads.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._maps = Maps(program.topology.units.count)
        self._numbers: dict[Row, int] = {}
        self._data: dict[int, int] = {}
        self._weights: dict[int, int] = {}
        self._values: dict[int, int] = {}
        self._coming = deque(_rows_of(program, "run"))
        self._arrived = self._written = 0
        self._places = _places(program)
        self._first_rows = np.cumsum([0, *(len(segment.data) for segment in program.data)]) // (
            program.topology.row_bytes
        )
        for op, row in _rows_of(program, "load"):
            self._bring(op, row)

    def await_rows(self, count: int) -> bool:
        """So many rows have come since the section began; whether there are more than before."""
        more = min(count - self._arrived, len(self._coming))
        for _ in range(more):
            self._bring(*self._coming.popleft())
        self._arrived += max(0, more)
        return more > 0

    def write(self, row: int, layer: str, raw: bool) -> None:
        """The array has issued an out of ``layer`` into ``row`` of the data RAM."""
        for k in range(row, row + (RAW_ROWS if raw else 1)):
            self._written += 1
            place = self._place(k, self._written)
            self._data[k] = (
                self._tensor_row(place, k) if place else self._number((layer, self._written - 1, NONE, NONE))
            )

    def data(self, row: int) -> int:
        """The number of what stands in a row of the data RAM."""
        if row not in self._data:
            self._data[row] = self._number(("", row, NONE, NONE))
        return self._data[row]

    def weights(self, row: int) -> int:
        """The row of the program's data that stands in a row of the weight RAM; -1: unknown."""
        return self._weights.get(row, NONE)

    def rows(self) -> MovingRows:
        """All that ever were asked for."""
        names = {name: k for k, name in enumerate(dict.fromkeys(row[0] for row in self._numbers))}
        columns = np.array([(names[row[0]], *row[1:]) for row in self._numbers], np.int64).reshape(-1, 4)
        values = self._host_rows(list(self._values)) if self._values else np.zeros((0, self._maps.units), np.int64)
        name, line, map_, value = columns.T
        return MovingRows(tuple(names), name, line, map_, value, values=values, **self._maps.arrays())

    def _host_rows(self, rows: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        data = np.concatenate([segment.data for segment in self._program.data])
        return rows_in_words(data.reshape(-1, self._program.topology.row_bytes)[rows], self._program.topology).astype(
            np.int64
        )

    def _bring(self, op: ReadHostMemory, row: int) -> None:
        """Row ``row`` of a transfer has come."""
        here, there = op.row + row, op.offset + row
        constant = int(self._first_rows[op.tensor]) + there if op.source == "data" else NONE
        if op.ram is Ram.WEIGHT:
            self._weights[here] = constant
        elif op.source == "input":
            tensor = self._program.inputs[op.tensor]
            self._data[here] = self._number((tensor.name, *self._maps.of(tensor.layout, there), NONE))
        elif op.source == "data":
            place = self._place(here, 0)
            value = self._value(constant)
            name = self._program.data[op.tensor].name
            self._data[here] = (
                self._tensor_row(place, here, value)
                if place and not place.rows_written
                else self._number((name, there, NONE, value))
            )
        else:
            self._data[here] = self._number((f"scratch {op.tensor}", there, NONE, NONE))

    def _value(self, constant: int) -> int:
        if self._maps.units > MOST_VALUED_UNITS:
            return NONE
        return self._values.setdefault(constant, len(self._values))

    def _tensor_row(self, place: TensorPlace, row: int, value: int = NONE) -> int:
        return self._number((place.name, *self._maps.of(place.layout, row - place.row), value))

    def _number(self, row: Row) -> int:
        return self._numbers.setdefault(row, len(self._numbers))

    def _place(self, row: int, written: int) -> TensorPlace | None:
        """The tensor that a row is of which is written when so many were."""
        return next((place for place in self._places[row] if place.rows_written >= written), None)


def _places(program: Program) -> dict[int, list[TensorPlace]]:
    """By row: the tensors that stand there, the first one first."""
    places: dict[int, list[TensorPlace]] = defaultdict(list)
    for place in sorted(program.tensors, key=lambda place: place.rows_written):
        for row in range(place.row, place.row + place.layout.rows):
            places[row].append(place)
    return places


def _rows_of(program: Program, section: str) -> Iterator[tuple[ReadHostMemory, int]]:
    """What DMA in brings in a section, row by row."""
    for _, op in queued(program.load if section == "load" else program.run, Queue.DMA_IN):
        if isinstance(op, ReadHostMemory):
            for row in range(op.rows):
                yield op, row
