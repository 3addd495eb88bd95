"""The section of instructions: the program's, packed for the browser, which adds what the timeline knows of each."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ProgramError
from tilesim.report.analysis.instructions import Listed, listed
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection
from tilesim.report.words import short_name

PARTS = ("rows", "spans", "list", "details")
SCRIPTS = (*(f"instructions_{part}.js" for part in PARTS), "instructions.js")
NO_PROGRAM = "There is no program beside this run: `tilesim run ... --out DIR` writes it there."
NO_TRACE = (
    "This run was not traced, so that nothing is known of when its instructions ran: `tilesim run ... --trace --out "
    "DIR` records that."
)
MOST_BYTES = 200_000
"""What all texts may take, compressed."""
LEFT_OUT = "The program is so long that {} left out here; program.tasm, beside the run, has all of it."
OPTIONAL = {"assembly": "the words of the assembly are", "operands": "operands are, too,"}
"""What is left out of too long a program, in this order."""


def instructions(run: SavedRun) -> PageSection:
    """The section of a run's instructions; without its program, what is missing."""
    try:
        program = run.program
    except ProgramError as error:
        return _missing(f"The program beside this run can't be read: {error.faults[0]}")
    if program is None:
        return _missing(NO_PROGRAM)
    rows = listed(program)
    texts, columns = packed(rows)
    packed_texts, notes = _within(texts)
    data = {
        "layers": [short_name(layer.name) for layer in program.layers],
        "tiles": _tiles(rows),
        "note": " ".join([*([] if run.trace else [NO_TRACE]), *notes]),
        "traced": run.trace is not None,
    }
    return PageSection("instructions", "Instructions", data, {**columns, "texts": packed_texts}, SCRIPTS)


def _missing(why: str) -> PageSection:
    return PageSection("instructions", "Instructions", {"missing": why}, scripts=SCRIPTS)


def _tiles(rows: Sequence[Listed]) -> int:
    return 1 + max((tile for row in rows for tile in row.explanation.tiles), default=-1)


def packed(rows: Sequence[Listed]) -> tuple[dict[str, list[Any]], dict[str, NDArray[Any]]]:
    """Tables of all that repeats, and columns of the places in them, an element an instruction.

    An instruction's waits are those from ``wait_end`` of the one before on to before its own; each is a place in the
    table ``waits``, and those ``by`` which it ends are, likewise up to its ``by_end``, places of instructions, counted
    from that of the one that waits.
    """
    tables: dict[str, list[Any]] = {"labels": [row.label for row in rows]}
    columns: dict[str, NDArray[Any]] = {"layer": np.array([row.layer for row in rows], np.int64)}
    for name, value in FIELDS.items():
        tables[name], columns[name] = _table(map(value, rows))
    waits = [(place, wait) for place, row in enumerate(rows) for wait in row.explanation.waits]
    tables["waits"], columns["wait"] = _table(wait.words for _, wait in waits)
    columns["wait_end"] = _ends(len(row.explanation.waits) for row in rows)
    columns["by_end"] = _ends(len(wait.by) for _, wait in waits)
    columns["by"] = np.array([by - place for place, wait in waits for by in wait.by], np.int64)
    return tables, columns


FIELDS: dict[str, Callable[[Listed], Any]] = {
    "kinds": lambda row: row.kind,
    "units": lambda row: row.explanation.unit,
    "tiles": lambda row: row.explanation.tiles,
    "raises": lambda row: row.explanation.raises,
    "operands": lambda row: row.explanation.operands,
    "assembly": lambda row: row.assembly,
}
"""What each instruction has, each a table and a column."""


def _table(values: Iterable[Hashable]) -> tuple[list[Any], NDArray[np.int64]]:
    """What differs of the values, and the place of each in it."""
    places: dict[Hashable, int] = {}
    column = [places.setdefault(value, len(places)) for value in values]
    return list(places), np.array(column, np.int64)


def _ends(counts: Iterable[int]) -> NDArray[np.int64]:
    return np.cumsum(np.fromiter(counts, np.int64))


def _within(texts: dict[str, list[Any]]) -> tuple[NDArray[np.uint8], list[str]]:
    """The tables as bytes of JSON, without the longest where they are too long, and what to say of that."""
    left_out: list[str] = []
    for name, words in OPTIONAL.items():
        content = _json(texts)
        if len(zlib.compress(content, 6)) <= MOST_BYTES:
            break
        texts = {**texts, name: []}
        left_out.append(words)
    note = [LEFT_OUT.format(" and ".join(left_out))] if left_out else []
    return np.frombuffer(_json(texts), np.uint8), note


def _json(texts: dict[str, list[Any]]) -> bytes:
    return json.dumps(texts, separators=(",", ":")).encode()
