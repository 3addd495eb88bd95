"""The whole run, a row for each MAC array and for all units of every other kind."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from tilesim.machines.description import Description
from tilesim.registry import description_of
from tilesim.report.analysis.spans import Words, edges_of, run_spans
from tilesim.report.figures import style
from tilesim.report.tracks import accounts_of, kind_of, role, stacked, track_words
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

BINS = 1200
PIXELS = 16
ROW_INCHES = 0.16


@dataclass(frozen=True)
class Shares:
    """``cycles`` is (row, kind, bin): of all ``units[row]`` units of the row together; what is missing is idle."""

    rows: tuple[str, ...]
    units: NDArray[np.int64]
    kinds: tuple[str, ...]
    edges: Words
    cycles: Words

    @property
    def fractions(self) -> NDArray[np.float64]:
        """Of each bin, in (row, kind, bin)."""
        result: NDArray[np.float64] = self.cycles / (np.diff(self.edges) * self.units[:, None, None])
        return result


def draw(statistics: RunStatistics, trace: Trace) -> Figure:
    """For each pixel column the exact share of each kind."""
    shown = shares(statistics, trace, BINS)
    rows = len(shown.rows)
    figure = Figure(figsize=(style.width_inches(), min(style.TALLEST_INCHES, 0.9 + ROW_INCHES * rows)))
    axes = figure.add_subplot()
    colours, idle = [style.colour(kind) for kind in shown.kinds], style.colour("idle")
    picture = style.stacked_shares(shown.fractions, colours, idle, PIXELS)
    style.show_shares(axes, picture, shown.edges, rows)
    axes.hlines(range(1, rows), 0, statistics["cycles"], "white", linewidth=0.8)
    style.name_rows(axes, [_label(*row) for row in zip(shown.rows, shown.units, strict=True)], middle=0.5)
    axes.tick_params(axis="y", labelsize=6 if rows <= 48 else 4)
    style.cycles_axis(axes, statistics["cycles"], statistics["clock_hz"])
    hues = [*zip(shown.kinds, colours, strict=True), ("idle", idle)]
    style.key(figure, [Patch(facecolor=hue, label=kind_of(kind).words) for kind, hue in hues])
    return figure


def shares(statistics: RunStatistics, trace: Trace, bins: int) -> Shares:
    """Of the units that were ever busy: first those of a row each, then the others in the order of run.json."""
    rows = _rows(statistics, description_of(statistics["machine"]))
    spans = run_spans(statistics, trace, [track for tracks in rows.values() for track in tracks])
    edges = edges_of(statistics["cycles"], bins)
    kinds = stacked({*trace.kinds} - {"idle"})
    cycles = np.zeros((len(rows), len(kinds), len(edges) - 1), np.int64)
    for row, tracks in enumerate(rows.values()):
        for of in (spans[track] for track in tracks):
            for place, kind in enumerate(kinds):
                cycles[row, place] += of.where(of.kind == trace.kinds.index(kind)).per_bin(edges)
    units = np.array([len(tracks) for tracks in rows.values()], np.int64)
    return Shares(tuple(rows), units, tuple(kinds), edges, cycles)


def _rows(statistics: RunStatistics, description: Description) -> dict[str, list[str]]:
    """Tracks by the name of the row that shows them."""
    apart: dict[str, list[str]] = {}
    together: defaultdict[str, list[str]] = defaultdict(list)
    for track in (unit["track"] for unit in accounts_of(statistics) if unit["busy_cycles"]):
        known = role(track, description)
        if known.apart:
            apart[track] = [track]
        else:
            together[known.words].append(track)
    return {**apart, **together}


def _label(row: str, units: int) -> str:
    """A unit by its path without the chip, or how many share the row."""
    return track_words(row) if "." in row else row if units == 1 else f"{units} {row}"
