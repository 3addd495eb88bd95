"""A table of published points: what others have measured or said of a chip, a line a point, commas between."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast

from tilesim.budgets import LARGEST_TABLE_BYTES, MOST_TABLE_ROWS
from tilesim.errors import InputError, refuse
from tilesim.files import read_text
from tilesim.printable import short, shown, unknown
from tilesim.units import SECOND_UNITS

Use: TypeAlias = Literal["train", "test"]
USES: tuple[Use, ...] = ("train", "test")
COLUMNS = ("model", "condition", "value", "unit", "use")
SOURCE = "source"
"""The column that may be left out."""
CYCLES, PER_SECOND = "cycles", "inferences/s"
UNITS = (*SECOND_UNITS, CYCLES, PER_SECOND)
TOPOLOGY = "topology"
"""The word of a condition that names the chip."""
MINUS = " - "
"""Between two models of which the difference is published."""
COMMENT = "#"

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")


class Fault(NamedTuple):
    """What is wrong with a line of a table."""

    line: int
    sentence: str


@dataclass(frozen=True)
class Published:
    """A line of a table."""

    line: int
    models: tuple[str, ...]
    """One, or two of which the difference is published; files by their paths."""
    condition: Mapping[str, str]
    """What holds for the point: keys of the chip and options with their values, and the chip by its name."""
    value: float
    unit: str
    """One of :data:`UNITS`."""
    use: Use
    """Whether keys may be fitted to it; else it is only compared with."""
    source: str = ""
    """Who says so."""

    @property
    def model(self) -> str:
        return MINUS.join(self.models)

    @property
    def spelt(self) -> str:
        """The condition, but for the chip."""
        return "; ".join(f"{key}={value}" for key, value in self.condition.items() if key != TOPOLOGY)


def read_table(path: Path, faults: list[Fault]) -> list[Published]:
    """The points of a table; what is wrong with its lines joins the ``faults``. A point whose models and condition can
    be read is there nevertheless, for what else may be wrong with it.

    The first line names the columns: :data:`COLUMNS` in any order, and ``source`` if it is there. Empty lines, and
    those that begin with ``#``, are left out. Files of models and chips are looked for where the table is.

    Raises:
        InputError: there is no such file, or it is no table.
    """
    (number, titles), *lines = _lines(path)
    refuse(f"{path}:{number}: {fault}" for fault in _title_faults(titles))
    if len(lines) > MOST_TABLE_ROWS:
        raise InputError(f"{path}: must have at most {MOST_TABLE_ROWS:,} points, not {len(lines):,}")
    if not lines:
        faults.append(Fault(number, "must have points below it, one a line, not only the names of columns"))
    points = []
    for number, cells in lines:
        if len(cells) != len(titles):
            cells_each = f"must have {len(titles)} cells, as many as there are columns, not {len(cells)}"
            faults.append(Fault(number, cells_each))
            continue
        cell = dict(zip(titles, cells, strict=True))
        unreadable = [*_model_faults(cell["model"]), *_condition_faults(cell["condition"])]
        faults += (Fault(number, fault) for fault in (*unreadable, *_value_faults(cell)))
        if not unreadable:
            points.append(_point(path.parent, number, cell))
    faults += _twice(points)
    return points


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """The lines that say something, with their numbers, by their cells. Raises InputError."""
    reader = csv.reader(io.StringIO(read_text(path, LARGEST_TABLE_BYTES, InputError), newline=""), strict=True)
    lines = []
    try:
        for cells in reader:
            words = [cell.strip() for cell in cells]
            if any(words) and not words[0].startswith(COMMENT):
                lines.append((reader.line_num, words))
    except csv.Error as fault:
        raise InputError(
            f"{path}:{reader.line_num}: must be a table with commas between its columns: {fault}"
        ) from None
    if not lines:
        raise InputError(f"{path}: must begin with the names of its columns: {','.join(COLUMNS)}")
    return lines


def _title_faults(titles: Sequence[str]) -> Iterator[str]:
    known = (*COLUMNS, SOURCE)
    for title, count in Counter(titles).items():
        if title not in known:
            yield f"a column {unknown(title, known)}"
        elif count > 1:
            yield f"the column {title} must be there once, not {count} times"
    if missing := [title for title in COLUMNS if title not in titles]:
        yield f"the columns must be {', '.join(COLUMNS)}; there is no {' and no '.join(missing)}"


def _model_faults(text: str) -> Iterator[str]:
    models = text.split(MINUS)
    if len(models) > 2 or not all(map(str.strip, models)):
        yield f"model must be a name or a file, or two with ' - ' between, not {shown(text)}"


def _value_faults(cell: Mapping[str, str]) -> Iterator[str]:
    if _number(cell["value"]) is None:
        yield f"value must be a number above 0, not {shown(cell['value'])}"
    if cell["unit"] not in UNITS:
        yield f"unit {unknown(cell['unit'], UNITS)}"
    elif cell["unit"] == PER_SECOND and MINUS in cell["model"]:
        yield f"unit must be a time or cycles where the value is a difference of two models, not {PER_SECOND}"
    if cell["use"] not in USES:
        yield f"use {unknown(cell['use'], USES)}"


def _number(text: str) -> float | None:
    """A number above 0, if it is one."""
    value = float(text) if _NUMBER.fullmatch(text) else 0.0
    return value if value > 0 and isfinite(value) else None


def _condition_faults(text: str) -> Iterator[str]:
    parts = _parts(text)
    for key, equals, value in parts:
        if not (key and equals and value):
            yield f"condition must be KEY=VALUE, with ; between several, not {shown(f'{key}{equals}{value}')}"
    for key, count in Counter(key for key, _, _ in parts).items():
        if count > 1:
            yield f"condition {short(key)} must be given once, not {count} times"


def _parts(text: str) -> list[tuple[str, str, str]]:
    """What stands between semicolons, each by its key, equals sign and value."""
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    return [(key.strip(), equals, value.strip()) for key, equals, value in pairs]


def _point(folder: Path, line: int, cell: Mapping[str, str]) -> Published:
    condition = {key: value for key, _, value in _parts(cell["condition"])}
    if TOPOLOGY in condition:
        condition[TOPOLOGY] = _beside(folder, condition[TOPOLOGY])
    return Published(
        line,
        tuple(_beside(folder, word.strip()) for word in cell["model"].split(MINUS)),
        condition,
        _number(cell["value"]) or 0.0,
        cell["unit"],
        cast("Use", cell["use"]),
        cell.get(SOURCE, ""),
    )


def _beside(folder: Path, word: str) -> str:
    """A name, or a file, which the table names from where it is."""
    return str(folder / word) if "/" in word or Path(word).suffix else word


def _twice(points: Sequence[Published]) -> Iterator[Fault]:
    """Lines that say again, or otherwise, what another one has said."""
    first: dict[object, int] = {}
    for point in points:
        what = point.models, tuple(sorted(point.condition.items())), point.unit
        if (line := first.setdefault(what, point.line)) != point.line:
            yield Fault(point.line, f"must be another point than that of line {line}")
