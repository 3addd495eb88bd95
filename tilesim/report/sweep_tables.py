"""A sweep as tables for a terminal: its best points, why others did not run, and how networks scale over tiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.explore.answers import Objective, best, named_values
from tilesim.explore.row import Row
from tilesim.printable import counted, printable
from tilesim.report.exploration.points import VariedKey, value_words, varied_keys
from tilesim.report.exploration.scaling import Series, series
from tilesim.report.exploration.verdict import verdict
from tilesim.report.tables import folded, left, right, table
from tilesim.report.words import cause_words, energy_text
from tilesim.units import format_seconds

MOST_BEST = 10
"""Points that are shown; an export has all."""
MOST_KEYS = 5
"""Keys that are shown of a point; its command has all."""
MOST_REASONS = 3
MOST_SERIES = 3
SIDES = ("grid.rows", "grid.columns")
"""Keys that are one column: ``2x4``."""
GRID = "grid"
SHOWN = {"tiles": "tiles", "cycles": "cycles", "latency_us": "latency", "energy_pj": "energy", "area_mm2": "mm²"}
"""Measures that each point is shown with."""
SCALING = ("tiles", "grid", "cycles", "speed-up", "efficiency")


def sweep_tables(rows: Sequence[Row], objectives: Sequence[Objective], every: Sequence[Row] = ()) -> Group:
    """What the ``rows`` of a sweep say; those that are left of ``every`` one, if some are left out."""
    found, keys = best(rows, objectives), _shown_keys(varied_keys(every or rows))
    return Group(*_answers(rows, found, keys, objectives, every), *_reasons(every or rows), *_scalings(rows, keys))


def _answers(
    rows: Sequence[Row],
    found: Sequence[Row],
    keys: Sequence[str],
    objectives: Sequence[Objective],
    every: Sequence[Row],
) -> Iterator[RenderableType]:
    if not found:
        ran = any(row["measures"] for row in every or rows)
        yield Text("No point is left by --where" if ran else "No point ran", "bold")
        return
    yield Text(_title(found, objectives, len(every) - len(rows) if every else 0), "bold")
    yield _best(found[:MOST_BEST], keys, objectives)
    yield from ("", Text(f"the first again: {printable(found[0]['command'])}"))


def _scalings(rows: Sequence[Row], keys: Sequence[str]) -> Iterator[RenderableType]:
    found = series(rows)
    for one in found[:MOST_SERIES]:
        yield from ("", Text(f"{printable(one.network)} over tiles{_alike(one, keys)}", "bold"), _scaling(one))
        yield Text(verdict(rows, one))
    if len(found) > MOST_SERIES:
        yield from ("", Text(f"{counted(len(found) - MOST_SERIES, 'other network or chip')} over tiles: see the page"))


def counts_words(rows: Sequence[Row], found: int) -> str:
    """How many points there are, and what became of them, of which so many were ``found`` in the store."""
    count = Counter(row["status"] for row in rows)
    parts = [
        f"{count['ran']:,} ran",
        *(f"{count[status]:,} {status}" for status in ("refused", "failed") if count[status]),
    ]
    there = f"; {found:,} of them were there already" if found else ""
    return f"{counted(len(rows), 'point')}: {', '.join(parts)}{there}"


def _title(found: Sequence[Row], objectives: Sequence[Objective], left_out: int) -> str:
    words = " and ".join(f"the {'largest' if maximise else 'least'} {measure}" for measure, maximise in objectives)
    which = "Points" if len(objectives) == 1 else "Pareto front: points"
    shown = f", {MOST_BEST} of {len(found):,}" if len(found) > MOST_BEST else ""
    without = f"; {counted(left_out, 'point')} left out by --where" if left_out else ""
    return f"{which} with {words}{shown}{without}"


def _best(rows: Sequence[Row], keys: Sequence[str], objectives: Sequence[Objective]) -> Table:
    points = [_point(row, keys) for row in rows]
    distinct = {name: len({point[name] for point in points}) > 1 for name in points[0]}
    names = [name for name in points[0] if distinct[name] or name in keys]
    own = [objective.measure for objective in objectives if objective.measure not in SHOWN]
    lines = table(*folded(*names), *right(*own, *SHOWN.values()), *left("bound by"))
    for row, point in zip(rows, points, strict=True):
        values = named_values(row)
        numbers = [*(_number(values.get(name)) for name in own), *_numbers(row)]
        lines.add_row(*(Text(printable(point[name])) for name in names), *numbers)
    return lines


def _point(row: Row, keys: Sequence[str]) -> dict[str, str]:
    """What a point is, in words: its network, its chip, and what varies."""
    settings = {**row["chip"], **row["options"]}
    if set(SIDES) <= settings.keys():
        settings[GRID] = "x".join(str(settings[side]) for side in SIDES)
    varied = {key: value_words(key, settings[key]) if key in settings else "-" for key in keys}
    return {"network": row["network"], "topology": row["topology"], **varied}


def _shown_keys(keys: Sequence[VariedKey]) -> list[str]:
    """The keys that are columns: rows and columns of tiles are one."""
    names = dict.fromkeys(GRID if key.key in SIDES else key.key for key in keys)
    return [*names][:MOST_KEYS]


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
    count = Counter((row["status"], row["reason"].partition("\n")[0]) for row in rows if row["measures"] is None)
    if count:
        yield ""
    for (status, reason), times in count.most_common(MOST_REASONS):
        yield Text(f"{counted(times, 'point')} {status}: {printable(reason)}")
    if more := len(count) - MOST_REASONS:
        yield from [Text(f"and {counted(more, 'other reason')}")] * (more > 0)


def _scaling(one: Series) -> Table:
    lines = table(*right(*SCALING), *left("bound by", ""))
    for place, row in enumerate(one.rows):
        knee = "knee" if place == one.knee else ""
        numbers = (f"{row.tiles:,}", row.shape, f"{row.cycles:,}", f"{row.speed_up:.2f} x", f"{row.efficiency:.0%}")
        lines.add_row(*numbers, cause_words(row.bound_by), knee, style="bold" if knee else "")
    return lines


def _alike(one: Series, keys: Sequence[str]) -> str:
    """What the chips of a series have in common, of what varies."""
    common = [f"{key}={value_words(key, one.settings[key])}" for key in keys if key in one.settings]
    return f", {', '.join(common)}" if common else ""
