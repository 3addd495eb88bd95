"""The whole run, a row for each MAC array and for all units of every other kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilesim.report.analysis.roles import track_words
from tilesim.report.analysis.shares import shares
from tilesim.report.figures.style import TALLEST_INCHES, WIDTH_INCHES, colour, cycles_axis, stacked
from tilesim.report.kinds import kind_of
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 1200
PIXELS = 24
ROW_INCHES = 0.16


def draw(statistics: RunStatistics, trace: Trace) -> Figure:
    """For each pixel column the exact share of each kind."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    shown = shares(statistics, trace, BINS)
    rows = len(shown.rows)
    figure = Figure(figsize=(WIDTH_INCHES, min(TALLEST_INCHES, 0.9 + ROW_INCHES * rows)))
    axes = figure.add_subplot()
    colours, idle = [colour(kind) for kind in shown.kinds], colour("idle")
    picture = stacked(shown.fractions, colours, idle, PIXELS)
    axes.imshow(picture, extent=(0, statistics["cycles"], rows, 0), aspect="auto", interpolation="nearest")
    axes.hlines(range(1, rows), 0, statistics["cycles"], "white", linewidth=0.8)
    axes.set_yticks([k + 0.5 for k in range(rows)], [_label(*row) for row in zip(shown.rows, shown.units, strict=True)])
    axes.tick_params(axis="y", length=0, labelsize=6 if rows <= 48 else 4)
    cycles_axis(axes, statistics["cycles"], statistics["clock_hz"])
    key = [*zip(shown.kinds, colours, strict=True), ("idle", idle)]
    handles = [Patch(facecolor=hue, label=kind_of(kind).words) for kind, hue in key]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, handlelength=1, columnspacing=1.2)
    return figure


def _label(row: str, units: int) -> str:
    """A unit by its path without the chip, or how many share the row."""
    return track_words(row) if "." in row else row if units == 1 else f"{units} {row}"
