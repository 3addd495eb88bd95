"""Tables are looked at as a whole before C sees them, which trusts every number: a fault in them is one of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tilesim.ragged import ranges
from tilesim.tiled.flat.columns import (
    ACCOUNTS_A_TILE,
    CHIP,
    COLUMNS,
    ISSUES,
    KNOWN,
    MESH_OUT,
    OF_CHIP,
    OF_OPS,
    OF_SENDINGS,
    OF_STEPS,
    OPS,
    RUN,
    WRITES,
    Bitmap,
    Number,
    Rows,
)
from tilesim.tiled.flat.tables import Numbers, Tables
from tilesim.tiled.isa.model.fields import Engine

COLUMN = {name: k for k, name in enumerate(COLUMNS)}
NO_ROWS = np.empty(0, np.int64)
WHO = (*KNOWN, *OPS[1:])
"""Whose a row is: an engine's, or of another kind."""
PLACES = {who: k for k, who in enumerate(WHO)}


@cache
def _those(names: Sequence[str]) -> NDArray[np.bool_]:
    """For each of :data:`WHO`, whether it is one of these."""
    those = np.zeros(len(WHO), bool)
    those[[PLACES[name] for name in names]] = True
    return those


FIXED: Mapping[str, Number] = {
    name: column.holds
    for name, column in OF_OPS.items()
    if isinstance(column.holds, Number) and isinstance(column.holds.below, int)
}
"""Columns whose bounds are the same in all rows that have them."""
FIXED_COLUMNS = [COLUMN[name] for name in FIXED]
HAVE_FIXED = np.stack([_those(OF_OPS[name].of) for name in FIXED], axis=1)
"""Who, a row each, has which of them."""
OTHERS = {name: column for name, column in OF_OPS.items() if name not in FIXED}


class TableFault(Exception):
    """A table holds what no program can have made: names table, row and column."""


def checked(tables: Tables) -> Tables:
    """The same tables, if every number in them is one that the core may use.

    Raises:
        TableFault: the first that is not.
    """
    _Check(tables).all()
    return tables


def _fault(table: str, row: int, column: str, must: str, value: object) -> TableFault:
    return TableFault(f"{table}, row {row}, column {column}: must be {must}, not {value}")


class _Check:
    """One look at tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.ops, self.pool = tables.ops, tables.pool

    def all(self) -> None:
        self._shapes()
        self._chip()
        self._kinds()
        self._all("ops", self.ops[:, FIXED_COLUMNS], FIXED, HAVE_FIXED[self.who])
        for name, column in OTHERS.items():
            holds, rows = column.holds, self._of(*column.of)
            if isinstance(holds, Number):
                self._number("ops", rows, name, self._column(name)[rows], holds, rows)
            elif isinstance(holds, Bitmap):
                self._bitmap(rows, name, holds)
            else:
                self._list(rows, name, holds)
        self._least()
        self._headers()
        self._destinations()
        self._transfers()
        self._all("steps", self.tables.steps, OF_STEPS)
        self._sent()

    def _shapes(self) -> None:
        """What C takes is flat, whole and of 64 bits."""
        wanted = {
            "ops": (np.int64, (len(self.ops), len(COLUMNS))),
            "pool": (np.int64, (self.pool.size,)),
            "bitmaps": (np.uint64, (self.tables.bitmaps.size,)),
            "chip": (np.int64, (len(CHIP),)),
            "load": (np.int64, (len(self.tables.sent[0]), len(OF_SENDINGS))),
            "run": (np.int64, (len(self.tables.sent[1]), len(OF_SENDINGS))),
            "steps": (np.int64, (len(self.tables.steps), len(OF_STEPS))),
        }
        of_sections = dict(zip(("load", "run"), self.tables.sent, strict=True))
        for name, (dtype, shape) in wanted.items():
            array: NDArray[np.generic] = of_sections[name] if name in of_sections else getattr(self.tables, name)
            if array.dtype != dtype or array.shape != shape or not (array.flags.c_contiguous and array.flags.aligned):
                how = "" if array.flags.c_contiguous else ", not in one piece"
                said = f"{np.dtype(dtype)} of shape {shape}, not {array.dtype} of shape {array.shape}{how}"
                raise TableFault(f"{name}, all rows and columns: must be {said}")

    def _chip(self) -> None:
        self._all("chip", self.tables.chip[None], OF_CHIP)
        self.chip = dict(zip(CHIP, self.tables.chip.tolist(), strict=True))
        tiles, columns = self.chip["tiles"], self.chip["columns"]
        stops = tiles + 3 + tiles + 1
        made = {
            "columns": columns if tiles % columns == 0 else 1,
            "bitmap_words": ceil((tiles + 3) / 64),
            "accounts": tiles * ACCOUNTS_A_TILE + stops + 6,
        }
        for name, number in made.items():
            if self.chip[name] != number:
                raise _fault("chip", 0, name, f"{number} for {tiles} tiles", self.chip[name])
        if self.tables.bitmaps.size % self.chip["bitmap_words"]:
            words = self.chip["bitmap_words"]
            raise _fault("bitmaps", 0, "all", f"{words} words each", f"{self.tables.bitmaps.size} in all")
        self.bits = [
            int.from_bytes(row.astype("<u8").tobytes(), "little")
            for row in self.tables.bitmaps.reshape(-1, self.chip["bitmap_words"])
        ]

    def _sent(self) -> None:
        """The host sends whole rows of numbers, for which there is room, and little more than can be counted."""
        steps = {"load": 0, "run": len(self.tables.steps)}
        for section, table in zip(("load", "run"), self.tables.sent, strict=True):
            self._all(f"sent in {section}", table, OF_SENDINGS)
            self._number(f"sent in {section}", np.arange(len(table)), "step", table[:, 3], Number(0, steps[section], 1))
            rows_sent, announced = int(table[:, 2].sum()), int(((table[:, 0] == 0) & (table[:, 2] == 0)).sum())
            for name, count in (("host_rows", rows_sent), ("requests", announced)):
                if count > self.chip[name]:
                    raise _fault("chip", 0, name, f"at least {count}", self.chip[name])
        fences = self._column("begins")[self._of("scalar_fence")]
        if (count := int(fences.sum()) + 1) > self.chip["requests"]:
            raise _fault("chip", 0, "requests", f"at least {count}", self.chip["requests"])

    def _all(
        self, name: str, table: Numbers, columns: Mapping[str, Number], there: NDArray[np.bool_] | bool = True
    ) -> None:
        """The ``columns`` of a table, whose bounds are the same in all rows, where they are ``there``."""
        least, below = np.array([(holds.least, self._below(holds, NO_ROWS)) for holds in columns.values()]).T
        bad = ((table < least) | (table >= below)) & there
        if bad.any():
            k, row = np.argwhere(bad.T)[0].tolist()
            raise _fault(name, row, [*columns][k], f"from {least[k]} to {below[k] - 1}", int(table[row, k]))

    def _kinds(self) -> None:
        """Whose each row is; nothing else can be looked at without that."""
        rows = np.arange(len(self.ops))
        kinds, engines = self._column("kind"), self._column("engine")
        self._number("ops", rows, "kind", kinds, _number_of("kind"), rows)
        works = rows[kinds == OPS.index("work")]
        self._number("ops", works, "engine", engines[works], _number_of("engine"), works)
        self.who = np.where(kinds == OPS.index("work"), engines, kinds + len(KNOWN) - 1)

    def _column(self, name: str) -> Numbers:
        return self.ops[:, COLUMN[name]]

    def _number(
        self, table: str, rows: Numbers, column: str, values: Numbers, holds: Number, ops: Numbers | None = None
    ) -> None:
        """``values`` of a table's ``rows``, which belong to ``ops``."""
        least, below = holds.least, self._below(holds, rows if ops is None else ops)
        bad = (values < least) | (values >= below)
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            most = int(np.broadcast_to(below, values.shape)[k]) - 1
            raise _fault(table, int(rows[k]), column, f"from {least} to {most}", int(values[k]))

    def _below(self, holds: Number, ops: Numbers) -> Numbers | int:
        if isinstance(holds.below, int):
            return holds.below + holds.more
        if holds.below in COLUMN:
            column: Numbers = self._column(holds.below)[ops]
            return column + holds.more
        return int(self.chip[holds.below]) + holds.more

    def _bitmap(self, rows: Numbers, name: str, holds: Bitmap) -> None:
        words = self.chip["bitmap_words"]
        self._number("ops", rows, name, self._column(name)[rows], Number(0, self.tables.bitmaps.size), rows)
        most = self.chip[holds.below] + holds.more
        for row in self._unlike(rows, name):
            if (place := int(self._column(name)[row])) % words:
                raise _fault("ops", row, name, f"a multiple of {words}", place)
            if (length := self._at(place).bit_length()) > most:
                raise _fault("ops", row, name, f"a bitmap of {most} bits", f"one of {length}")

    def _unlike(self, rows: Numbers, *columns: str) -> list[int]:
        """Some rows, those of all that are alike in these columns and in whose they are but once: the first."""
        alike = np.stack([self.who[rows], *(self._column(name)[rows] for name in columns)])
        order = np.lexsort(alike)
        others = (alike[:, order[1:]] != alike[:, order[:-1]]).any(axis=0)
        first = order[np.concatenate([[True], others])[: len(order)]]
        unlike: list[int] = rows[np.sort(first)].tolist()
        return unlike

    def _list(self, rows: Numbers, name: str, holds: Rows) -> None:
        """Each list is looked at once for all that share it and its bounds."""
        counts, width = self._column(holds.length), len(holds.fields)
        self._number("ops", rows, holds.length, counts[rows], Number(0, self.pool.size // width, 1), rows)
        rows = rows[counts[rows] > 0]
        self._number("ops", rows, name, self._column(name)[rows], Number(0, self.pool.size), rows)
        ends = self._column(name)[rows] + counts[rows] * width
        self._number("ops", rows, f"{name} with its {holds.length}", ends, Number(0, self.pool.size, 1), rows)
        self._entries(np.array(self._unlike(rows, name, holds.length, "rounds"), np.int64), name, holds)

    def _entries(self, rows: Numbers, name: str, holds: Rows) -> None:
        counts, width = self._column(holds.length)[rows], len(holds.fields)
        of = np.repeat(rows, counts)
        nth = ranges(0, counts)
        places = (self._column(name)[of] + width * nth)[:, None] + np.arange(width)
        entries = self.pool[places]
        for k, (field, each) in enumerate(holds.fields.items()):
            self._number("pool", places[:, k], f"{field} of {name}", entries[:, k], each, of)
        column = f"{next(iter(holds.fields))} of {name}"
        firsts, where = entries[:, 0], places[:, 0]
        if holds.step is not None:
            later = 1 + np.flatnonzero(of[1:] == of[:-1])
            self._each("pool", where[later], column, firsts[later], firsts[later - 1] + holds.step, None)
        if holds.last:
            ends, last = np.cumsum(counts) - 1, self._column(holds.last)[rows]
            self._each("pool", where[ends], column, firsts[ends], last, last)

    def _each(
        self, table: str, rows: Numbers, column: str, values: Numbers, least: Numbers, most: Numbers | None
    ) -> None:
        """Each of ``values`` has bounds of its own."""
        bad = np.flatnonzero((values < least) | (values > (values if most is None else most)))
        if bad.size:
            k = int(bad[0])
            must = f"at least {least[k]}" if most is None else str(most[k])
            raise _fault(table, int(rows[k]), column, must, int(values[k]))

    def _of(self, *who: str) -> Numbers:
        return np.flatnonzero(_those(who)[self.who])

    def _bits(self, name: str, row: int) -> int:
        return self._at(int(self._column(name)[row]))

    def _at(self, place: int) -> int:
        bitmap: int = self.bits[place // self.chip["bitmap_words"]]
        return bitmap

    def _least(self) -> None:
        """What a group issues and writes at least is what one of them does."""
        for row in self._unlike(self._of(Engine.TENSOR), "runs", "run_count", "least_issues", "least_writes"):
            first, count = (int(self._column(name)[row]) for name in ("runs", "run_count"))
            runs = self.pool[first : first + count * len(RUN)].reshape(count, len(RUN))
            for name, least in {"least_issues": runs[:, ISSUES].min(), "least_writes": runs[:, WRITES].min()}.items():
                if (given := self._column(name)[row]) != least:
                    raise _fault("ops", row, name, f"{least}, the least of its runs", given)

    def _headers(self) -> None:
        """An instruction stops where its kind can be carried out, and at the last of its stops."""
        tiles, edges = self.chip["tiles"], dict(zip(MESH_OUT, self._edges(), strict=True))
        for row in self._unlike(self._of(*OF_OPS["header"].of), "header", "last_stop"):
            who, header, last = WHO[self.who[row]], self._bits("header", row), int(self._column("last_stop")[row])
            if last != header.bit_length() - 1:
                raise _fault("ops", row, "last_stop", f"{header.bit_length() - 1}, the header's last bit", last)
            if who == "classify" and header != 1 << tiles:
                raise _fault("ops", row, "header", "the classifier", bin(header))
            if who not in ("classify", "record") and header >> tiles:
                raise _fault("ops", row, "header", f"a bitmap of {tiles} bits", f"one of {header.bit_length()}")
            if away := header & edges.get(who, 0):
                raise _fault("ops", row, "header", f"tiles with a neighbour for {who}", bin(away))

    def _edges(self) -> Iterator[int]:
        """The tiles without a neighbour at each side."""
        tiles, columns = self.chip["tiles"], self.chip["columns"]
        last = columns - 1
        yield sum(1 << k for k in range(columns))
        yield sum(1 << k for k in range(tiles) if k % columns == last)
        yield sum(1 << k for k in range(tiles - columns, tiles))
        yield sum(1 << k for k in range(0, tiles, columns))

    def _destinations(self) -> None:
        """A packet is taken as often as it has destinations; each transfer of an infeed goes a node further."""
        nodes = self.chip["tiles"] + 2
        for row in self._unlike(self._of(*OF_OPS["destinations"].of), "to", "destinations"):
            count, given = self._bits("to", row).bit_count(), int(self._column("destinations")[row])
            if given != count:
                raise _fault("ops", row, "destinations", f"{count}, as many as `to` has", given)
        for row in self._unlike(self._of("infeed"), "to", "transfers"):
            room = nodes - self._bits("to", row).bit_length() + 1
            if (given := int(self._column("transfers")[row])) > room:
                raise _fault("ops", row, "transfers", f"at most {room}", given)

    def _transfers(self) -> None:
        """The core has room for as many transfers as there are."""
        infeeds, producers, classifies = (self._of(name) for name in ("infeed", Engine.RING_PRODUCER, "classify"))
        sizes = np.array([bits.bit_count() for bits in self.bits] or [0])
        there = sizes[self._column("header")[producers] // self.chip["bitmap_words"]]
        count = int(self._column("transfers")[infeeds].sum()) + int(there.sum()) + len(classifies)
        if count != self.chip["transfers"]:
            raise _fault("chip", 0, "transfers", f"{count}, as many as the rows of ops send", self.chip["transfers"])


def _number_of(name: str) -> Number:
    holds = OF_OPS[name].holds
    assert isinstance(holds, Number)
    return holds
