"""How networks scale, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.explore.row import Row
from tilesim.printable import printable
from tilesim.report.exploration.points import value_words, varied
from tilesim.report.exploration.scaling import Series, longest, series
from tilesim.report.exploration.verdict import between, shares, verdict
from tilesim.report.tables import folded, left, right, table
from tilesim.report.words import cause_words
from tilesim.units import format_seconds

NUMBERS = ("tiles", "cycles", "time", "speedup", "efficiency")


def scaling_tables(rows: Sequence[Row]) -> Group | None:
    """For each network its longest series, with the knee and why it is there; None where nothing can be compared."""
    found = series(rows)
    axes = [axis.key for axis in varied([one.settings for one in found])]
    parts = [part for one in longest(found) for part in ("", *_of_network(rows, one, found, axes))]
    return Group(*parts[1:]) if parts else None


def _of_network(
    rows: Sequence[Row], one: Series, found: Sequence[Series], axes: Sequence[str]
) -> Iterator[RenderableType]:
    settings = ", ".join(f"{key} {value_words(key, one.settings[key])}" for key in axes if key in one.settings)
    title = (printable(one.network), "bold")
    yield Text.assemble(title, f" with {printable(settings)}") if settings else Text.assemble(title)
    yield scaling_table(rows, one)
    yield Text(verdict(rows, one))
    if others := sum(other.network == one.network for other in found) - 1:
        yield Text(f"{others:,} other series of it: the report has all.")


def scaling_table(rows: Sequence[Row], one: Series) -> Table:
    """A line a chip of a series: how fast, against the fewest tiles, and what most is lost to from the chip before."""
    lines = table(*right(*NUMBERS), *left("", "bound by"), *folded("most lost to"))
    for place, chip in enumerate(one.rows):
        numbers = (
            f"{chip.tiles:,}", f"{chip.cycles:,}", format_seconds(chip.time_us / 1e6), f"{chip.speed_up:.2f} x",
            f"{chip.efficiency:.0%}",
        )  # fmt: skip
        knee = place == one.knee and place < len(one.rows) - 1
        mark, style = ("knee", "bold") if knee else ("", "")
        lines.add_row(*numbers, mark, cause_words(chip.bound_by), _lost(rows, one, place), style=style)
    return lines


def _lost(rows: Sequence[Row], one: Series, place: int) -> str:
    found = shares(between(rows, one, place - 1, place)) if place else []
    return f"{found[0][0]} {found[0][1]:.0%}" if found else "-"
