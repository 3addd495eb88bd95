"""Rows as text: CSV for spreadsheets, JSON with everything, and flat dicts, of which pandas makes a table."""

from __future__ import annotations

import csv as csv_format
import io
import json as json_format
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tilesim.explore.point import Value, spelt
from tilesim.explore.row import Measures, Row

Cell = Value | None
"""None where a point did not run, or has no such column."""

_SCALARS = tuple(
    name for name in Measures.__annotations__ if name not in ("breakdown", "bytes", "peak_bytes", "layers")
)


def flat(row: Row) -> dict[str, Cell]:
    """A row as one dict: ``network``, every key of the chip, every option, the measures, ``area_mm2``, and
    ``breakdown.CAUSE``, ``bytes.BUS``, ``peak_bytes.MEMORY``, ``area_mm2.PART``. Sources and layers are left out.
    """
    return dict(_cells(row))


def flat_rows(rows: Iterable[Row], shown: Collection[str] = ()) -> list[dict[str, Cell]]:
    """As :func:`flat` has them, in the order of their keys; of the keys of chips only those in which they differ, and
    those that are to be ``shown``. What a run has lost no cycles to is 0 there.
    """
    ordered = sorted(rows, key=lambda row: row["key"])
    same = {
        name for name in _chip_keys(ordered) - {*shown} if len({repr(row["chip"].get(name)) for row in ordered}) == 1
    }
    records = [flat({**row, "chip": _without(row["chip"], same)}) for row in ordered]
    columns = _columns(records)
    return [{name: record.get(name, _absent(record, name)) for name in columns} for record in records]


def csv(rows: Iterable[Row], seconds: Mapping[str, float] | None = None) -> str:
    """The rows as :func:`flat_rows` has them, one a line under their names; with ``seconds``, what each took."""
    records = flat_rows(rows)
    text = io.StringIO()
    names = [*(records[0] if records else ["key"]), *(["seconds"] if seconds is not None else [])]
    writer = csv_format.writer(text, lineterminator="\n")
    writer.writerow(names)
    for record in records:
        took = {"seconds": (seconds or {}).get(str(record["key"]))}
        writer.writerow([_spelt({**took, **record}[name]) for name in names])
    return text.getvalue()


def json(rows: Iterable[Row], seconds: Mapping[str, float] | None = None) -> str:
    """The rows as a list, in the order of their keys, with all that they have, one a line; with ``seconds``, what each
    took.
    """
    ordered = sorted(rows, key=lambda row: row["key"])
    took = (({"seconds": seconds.get(row["key"])} if seconds is not None else {}) for row in ordered)
    lines = [json_format.dumps({**row, **more}, ensure_ascii=False) for row, more in zip(ordered, took, strict=True)]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def _cells(row: Row) -> Iterator[tuple[str, Cell]]:
    yield from ((name, row[name]) for name in ("key", "network", "topology", "machine"))
    yield from row["chip"].items()
    yield from row["options"].items()
    yield "status", row["status"]
    measures = row["measures"]
    yield from ((name, _scalar(measures, name)) for name in _SCALARS)
    if measures:
        for name, parts in (("breakdown", measures["breakdown"]), ("bytes", measures["bytes"])):
            yield from ((f"{name}.{part}", value) for part, value in parts.items())
        yield from ((f"peak_bytes.{memory}", value) for memory, value in measures["peak_bytes"].items())
    yield "area_mm2", sum(row["area"].values())
    yield from ((f"area_mm2.{part}", value) for part, value in row["area"].items())
    yield "reason", row["reason"]
    yield "command", row["command"]


def _columns(records: Sequence[Mapping[str, Cell]]) -> list[str]:
    """The names of all records; each follows the one that it follows in its record."""
    columns: list[str] = []
    for names in sorted(dict.fromkeys(map(tuple, records)), key=len, reverse=True):
        place = 0
        for name in names:
            if name not in columns:
                columns.insert(place, name)
            place = columns.index(name) + 1
    return columns


def _absent(record: Mapping[str, Cell], name: str) -> Cell:
    return 0.0 if name.startswith("breakdown.") and record["cycles"] is not None else None


def _scalar(measures: Measures | None, name: str) -> Cell:
    values: Mapping[str, object] = measures or {}
    value = values.get(name)
    return value if isinstance(value, str | int | float) else None


def _chip_keys(rows: Sequence[Row]) -> set[str]:
    return {name for row in rows for name in row["chip"]}


def _without(chip: Mapping[str, Value], names: set[str]) -> dict[str, Value]:
    return {name: value for name, value in chip.items() if name not in names}


def _spelt(cell: Cell) -> str:
    return "" if cell is None else spelt(cell)
