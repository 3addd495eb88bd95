"""A sweep as tables for a terminal: its best points, why others did not run, and how networks scale over tiles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.explore.row import Row
from tilesim.explore.rows.answers import Objective, by_network, named_values
from tilesim.printable import counted, printable, unknown
from tilesim.report.exploration.keys import space_keys, telling
from tilesim.report.exploration.outcomes import counts, reasons
from tilesim.report.exploration.points import MISSING, VariedKey
from tilesim.report.exploration.tables import scaling_tables
from tilesim.report.tables import folded, left, right, table
from tilesim.report.words import cause_words, energy_text
from tilesim.units import format_seconds

MOST_BEST = 10
"""Points that are shown; an export has all."""
LEAST_BEST = 3
"""Of each network, if there are several."""
MOST_KEYS = 5
"""Keys that are shown of a point; its command has all."""
MOST_REASONS = 3
SHOWN = {"tiles": "tiles", "cycles": "cycles", "latency_us": "latency", "energy_pj": "energy", "area_mm2": "mm²"}
"""Measures that each point is shown with."""
BOUND_BY = "bound by"
SPARED = (BOUND_BY, "tiles", "cycles", "energy")
"""Columns that go first where there is no room for all."""
LONGEST_TITLE = 14
"""Characters of a line of a title, if it can be broken."""
MOST_COLUMNS = 1000
"""Of a terminal that has room for every table."""


def sweep_tables(rows: Sequence[Row], objectives: Sequence[Objective], every: Sequence[Row]) -> Group:
    """What the ``rows`` of a sweep say: those that are left of ``every`` one."""
    found = by_network(rows, objectives)
    parts = [
        *(_answers(found, objectives, rows, every) if found else _nothing(rows, objectives, every)),
        *_reasons(every),
    ]
    if scaling := scaling_tables(rows):
        parts += ["", scaling]
    return Group(*parts)


def counts_words(rows: Sequence[Row], found: int) -> str:
    """How many points there are, and what became of them, of which so many were ``found`` in the store."""
    parts = [f"{count:,} {status}" for status, count in counts(rows).items() if count or status == "ran"]
    there = f"; {found:,} had a row already" if found else ""
    return f"{counted(len(rows), 'point')}: {', '.join(parts)}{there}"


def _nothing(rows: Sequence[Row], objectives: Sequence[Objective], every: Sequence[Row]) -> Iterator[RenderableType]:
    ran = [named_values(row) for row in rows if row["measures"]]
    if not ran:
        yield Text("No point is left by --where" if counts(every)["ran"] else "No point ran", "bold")
    known = {name for values in ran for name, value in values.items() if isinstance(value, int | float)}
    strange = [measure for measure, _ in objectives if measure not in known]
    if ran and not strange:
        yield Text("No point has all these measures", "bold")
    for measure in strange if ran else ():
        yield Text(f"No point has {measure}: it {unknown(measure, known, 'a measure of these points')}", "bold")


def _answers(
    found: Mapping[str, Sequence[Row]], objectives: Sequence[Objective], rows: Sequence[Row], every: Sequence[Row]
) -> Iterator[RenderableType]:
    """The best points of each network, and how each network's first runs again."""
    most = max(LEAST_BEST, MOST_BEST // len(found))
    count = sum(map(len, found.values()))
    shown = [row for points in found.values() for row in points[:most]]
    words = " and ".join(f"the {'largest' if maximise else 'least'} {measure}" for measure, maximise in objectives)
    which = "Points" if len(objectives) == 1 else "Pareto front: points"
    some = f", {len(shown):,} of {count:,}" if len(shown) < count else ""
    without = len(every) - len(rows)
    left_out = f"; {counted(without, 'point')} left out by --where" if without else ""
    yield Text(f"{which} with {words}{some}{left_out}", "bold")
    yield _table(shown, every, [objective.measure for objective in objectives])
    yield ""
    for network, points in found.items():
        whose = f" of {network}" if len(found) > 1 else ""
        yield Text(printable(f"the best{whose} again: {points[0]['command']}"))


@dataclass(frozen=True)
class BestPoints:
    """A line a point: what tells it from others that ran, and its numbers, as far as there is room."""

    titles: Sequence[str]
    """Of keys, which stand on the left."""
    measures: Sequence[str]
    """Titles of numbers."""
    lines: Sequence[Sequence[str]]
    spared: Sequence[str]
    """Titles of columns that go where there is no room, the first one first."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        for count in range(len(self.spared) + 1):
            lines = self._table(self.spared[:count])
            if lines.__rich_measure__(console, options.update(width=MOST_COLUMNS)).maximum <= options.max_width:
                break
        yield lines

    def _table(self, left_out: Sequence[str]) -> Table:
        titles = (*self.titles, *self.measures, BOUND_BY)
        columns = (*left(*map(_title, self.titles)), *right(*map(_title, self.measures)), *folded(BOUND_BY))
        kept = [k for k, title in enumerate(titles) if title not in left_out]
        lines = table(*(columns[k] for k in kept))
        for words in self.lines:
            lines.add_row(*(Text(printable(words[k])) for k in kept))
        return lines


def _title(name: str) -> str:
    """A name in several lines, so that a column need not be as wide."""
    lines: list[str] = []
    for part in re.findall(r"[^._]+[._]?|.", name):
        if not lines or lines[-1].endswith(".") or len(lines[-1]) + len(part) > LONGEST_TITLE:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _table(shown: Sequence[Row], every: Sequence[Row], objectives: Sequence[str]) -> BestPoints:
    ran = [row for row in every if row["measures"]]
    places = {row["key"]: place for place, row in enumerate(ran)}
    keys = space_keys(ran)
    named = [*(key for key in keys if key.key == "network"), *telling(keys)[:MOST_KEYS]]
    others = [measure for measure in objectives if measure not in SHOWN]
    lines = []
    for row in shown:
        values = named_values(row)
        words = [_word(key, places[row["key"]]) for key in named]
        lines.append([*words, *(_number(values.get(measure)) for measure in others), *_numbers(row)])
    spared = [title for title in SPARED if title not in [SHOWN.get(measure) for measure in objectives]]
    return BestPoints([key.key for key in named], [*others, *SHOWN.values()], lines, spared)


def _word(key: VariedKey, place: int) -> str:
    """The value of a key at a point."""
    return "-" if (code := key.codes[place]) == MISSING else key.words[code]


def _numbers(row: Row) -> Iterator[str]:
    measures = row["measures"]
    assert measures is not None
    yield f"{measures['tiles']:,}"
    yield f"{measures['cycles']:,}"
    yield format_seconds(measures["latency_us"] / 1e6)
    yield energy_text(measures["energy_pj"])
    yield f"{sum(row['area'].values()):,.2f}"
    yield cause_words(measures["bound_by"])


def _number(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, int | float) else "-"


def _reasons(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Why points did not run, the most frequent first; of several faults of a point the first."""
    found = reasons(rows)
    if found:
        yield ""
    for reason in found[:MOST_REASONS]:
        sentence = reason.sentence.partition("\n")[0]
        yield Text(f"{counted(reason.points, 'point')} {reason.status}: {printable(sentence)}")
    if len(found) > MOST_REASONS:
        yield Text(f"and {counted(len(found) - MOST_REASONS, 'other reason')}")
