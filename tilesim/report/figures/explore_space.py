"""The points of a sweep: a map of the two keys that change the latency most, and Pareto fronts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from tilesim.explore.row import Row
from tilesim.explore.rows.front import front
from tilesim.report.exploration.heat import MOST_ACROSS, MOST_UP, HeatMap, heat_map, labels
from tilesim.report.exploration.keys import heat_axes, space_keys, telling
from tilesim.report.exploration.measures import costs, shown_in
from tilesim.report.exploration.points import MEASURES, Measure, measured
from tilesim.report.figures.style import colour, key, label, width_inches

SHOWN = {each.name: each for each in MEASURES}
MAPS = ("latency_us", "energy_pj")
FRONTS = (("area_mm2", "latency_us"), ("latency_us", "energy_pj"))
"""The measures across and up of each."""
HEIGHT_INCHES = 2.8
CELL_INCHES, LEAST_CELL_INCHES, MANY_CELLS = 0.22, 0.13, 12
LETTER_INCHES, LINE_INCHES = 0.055, 0.11
"""Of numbers in cells, and of their names."""
PANEL_SHARE = 0.36
"""Of the width, that a panel of two has."""
WIDE = 20
"""Numbers that lie so many times apart are drawn on a logarithmic scale."""
FAINT = 0.35
HATCHED: Mapping[str, Any] = {"facecolor": "none", "edgecolor": colour("muted"), "hatch": "////", "linewidth": 0}
ON_FRONT = "on the Pareto front: no other is as good in both and better in one"


@dataclass(frozen=True)
class Shown:
    """A measure of some points, in the unit in which it shows."""

    measure: Measure
    title: str
    values: NDArray[np.float64]
    """(point): not a number of others."""

    @property
    def is_wide(self) -> bool:
        """Whether a logarithm shows them better."""
        low, high = np.nanmin(self.values), np.nanmax(self.values)
        return bool(0 < low * WIDE < high)


def draw_maps(rows: Sequence[Row], network: str) -> Figure | None:
    """The lowest latency and energy of the points that share two keys, whatever their other keys are; None where no two
    keys differ, or nothing ran.
    """
    of = _of(rows, network)
    shown = [_shown(rows, of, SHOWN[name]) for name in MAPS]
    keys = space_keys(rows)
    axes = heat_axes(keys, shown[0].values)
    if axes is None or np.isnan(shown[0].values).all():
        return None
    across, up = axes
    maps = [heat_map(across, up, each.values, of, "lowest") for each in shown]
    cells = maps[0].values.shape[0]
    height = max(4, cells) * (CELL_INCHES if cells <= MANY_CELLS else LEAST_CELL_INCHES)
    figure = Figure(figsize=(width_inches(), 1.25 + height))
    panels = figure.subplots(1, len(maps), sharey=True)
    for panel, found, each in zip(panels, maps, shown, strict=True):
        _map(figure, panel, found, each)
    panels[0].set_ylabel(label(up.key))
    if others := ", ".join(label(other.key) for other in telling(keys) if other.key not in (across.key, up.key)):
        figure.supxlabel(f"each cell: the best of its points, whatever {others}", fontsize=6, color=colour("muted"))
    if maps[0].refused.any():
        key(figure, [Patch(**HATCHED, label="none of its points ran")])
    return figure


def draw_fronts(rows: Sequence[Row], network: str) -> Figure | None:
    """The points of a network by area and latency, and by latency and energy, with their Pareto fronts; None where
    nothing ran.
    """
    of = _of(rows, network)
    if np.isnan(_shown(rows, of, SHOWN["latency_us"]).values).all():
        return None
    figure = Figure(figsize=(width_inches(), HEIGHT_INCHES))
    panels = figure.subplots(1, len(FRONTS))
    for panel, names in zip(panels, FRONTS, strict=True):
        measures = [SHOWN[name] for name in names]
        on_front = front(np.where(of[:, None], costs(rows, measures), np.nan))
        _front(panel, [_shown(rows, of, measure) for measure in measures], on_front)
    handles, _ = panels[0].get_legend_handles_labels()
    key(figure, handles)
    return figure


def _of(rows: Sequence[Row], network: str) -> NDArray[np.bool_]:
    return np.array([row["network"] == network for row in rows], np.bool_)


def _shown(rows: Sequence[Row], of: NDArray[np.bool_], measure: Measure) -> Shown:
    values = np.where(of, measured(rows, measure), np.nan)
    unit, factor = shown_in(measure, values)
    return Shown(measure, f"{measure.words}, {unit}" if unit else measure.words, values * factor)


# ---- a map


def _map(figure: Figure, axes: Any, found: HeatMap, shown: Shown) -> None:
    """Light is better. A number stands in each cell where all have room."""
    ends = float(np.nanmin(found.values)), float(np.nanmax(found.values))
    norm = (LogNorm if 0 < ends[0] * WIDE < ends[1] else Normalize)(*ends)
    shades = colormaps["cividis" if shown.measure.more_is_better else "cividis_r"]
    rows, columns = found.values.shape
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    picture = axes.pcolormesh(*edges, found.values, cmap=shades, norm=norm, edgecolor="white", linewidth=0.4)
    for row, column in zip(*np.nonzero(found.refused), strict=True):
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **HATCHED))
    words = [[f"{value:.4g}" for value in row] for row in found.values]
    room = PANEL_SHARE * width_inches() / columns / LETTER_INCHES
    if max(len(word) for row in words for word in row if word != "nan") <= room:
        _numbers(axes, found, words, lambda value: shades(norm(value)))
    _name_cells(axes, found, room)
    axes.set(xlabel=label(found.across.key), title=f"lowest {shown.title}")
    bar = figure.colorbar(picture, ax=axes, pad=0.02, aspect=30)
    bar.outline.set_linewidth(0.4)
    _number_axis(bar.ax.yaxis, isinstance(norm, LogNorm))


def _numbers(axes: Any, found: HeatMap, words: Sequence[Sequence[str]], shade: Any) -> None:
    for row, column in zip(*np.nonzero(~np.isnan(found.values)), strict=True):
        red, green, blue, _ = shade(found.values[row, column])
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else "white"
        axes.text(column, row, words[row][column], ha="center", va="center", color=ink, fontsize=6)


def _name_cells(axes: Any, found: HeatMap, room: float) -> None:
    across, up = labels(found.across, MOST_ACROSS), labels(found.up, MOST_UP)
    is_steep = max(map(len, across)) > room
    every = max(1, round(len(across) * LINE_INCHES / (PANEL_SHARE * width_inches()))) if is_steep else 1
    names = [label(words, 18) for words in across]
    axes.set_xticks(range(0, len(across), every), names[::every], rotation=90 if is_steep else 0)
    axes.set_yticks(range(len(up)), [label(words, 18) for words in up])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


# ---- a front


def _front(axes: Any, shown: Sequence[Shown], on_front: NDArray[np.bool_]) -> None:
    across, up = (each.values for each in shown)
    order = np.flatnonzero(on_front)[np.argsort(across[on_front], kind="stable")]
    rest = ~on_front
    axes.plot(
        across[rest], up[rest], "o", markersize=1.8, color=colour("muted"), alpha=FAINT, markeredgewidth=0,
        label="dominated", rasterized=rest.sum() > 1000,
    )  # fmt: skip
    step = "steps-pre" if shown[0].measure.more_is_better else "steps-post"
    axes.plot(across[order], up[order], drawstyle=step, color=colour("fg"), linewidth=0.8)
    axes.plot(
        across[order], up[order], "o", linestyle="none", markersize=3.6, color=colour("busy"),
        markeredgecolor=colour("fg"), markeredgewidth=0.6, label=ON_FRONT,
    )  # fmt: skip
    for each, axis, scale in ((shown[0], axes.xaxis, axes.set_xscale), (shown[1], axes.yaxis, axes.set_yscale)):
        scale("log" if each.is_wide else "linear")
        _number_axis(axis, each.is_wide)
    axes.set(xlabel=shown[0].title, ylabel=shown[1].title)
    axes.grid(which="major", color=colour("line"), linewidth=0.4)
    axes.set_axisbelow(True)


def _number_axis(axis: Any, is_logarithmic: bool) -> None:
    """Plain numbers; on a logarithmic scale few of them."""
    if is_logarithmic:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:,g}")
