"""How networks scale with tiles: speed-up and efficiency, what is lost, layers, and energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator
from numpy.typing import NDArray

from tilesim.explore.row import Row
from tilesim.machines.description import Lost
from tilesim.registry import description_of
from tilesim.report.exploration.layers import LayerScaling, held_words, layer_scaling
from tilesim.report.exploration.losses import LOSSES, spent
from tilesim.report.exploration.scaling import ScaledRow, Series
from tilesim.report.exploration.verdict import between, tiles_words
from tilesim.report.figures.style import TALLEST_INCHES, colour, key, label, name_rows, rgb, width_inches
from tilesim.report.words import short_name

HEIGHT_INCHES = 2.8
LAYER_INCHES = 0.145
MARKERS = "os^Dv<>P"
LEAST = 0.5
"""Cycles below which a part is not shown."""
MOST_TICKS = 16
MOST_NUMBERS = 12
"""Columns in which numbers have room."""
PALEST = 0.6
"""Of the hue of an efficiency of 1, beside white, so that numbers on it can be read."""


# ---- speed-up, efficiency, energy: a line a network


def draw_scaling(found: Sequence[Series]) -> Figure:
    """Speed-up and efficiency against tiles, a line a network, its knee in a ring."""
    figure = Figure(figsize=(width_inches(), HEIGHT_INCHES))
    left, right = figure.subplots(1, 2)
    most = max(row.tiles / one.rows[0].tiles for one in found for row in one.rows)
    first = min(one.rows[0].tiles for one in found)
    left.plot([first, first * most], [1, most], color=colour("muted"), linewidth=0.7, linestyle="--")
    left.annotate("ideal", (first * most, most), (-8, 0), textcoords="offset points", ha="right", va="center")
    right.axhline(1, color=colour("muted"), linewidth=0.7, linestyle="--")
    for number, one in enumerate(found):
        _line(left, one, number, [row.speed_up for row in one.rows])
        _line(right, one, number, [row.efficiency for row in one.rows])
    left.set_yscale("log", base=2)
    left.yaxis.set_major_formatter(lambda value, _: f"{value:g} ×")
    left.set(ylabel="speed-up", title="Speed-up")
    right.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    right.set(ylabel="efficiency", ylim=(0, None), title="Efficiency")
    for axes in (left, right):
        _tiles_axis(axes, found)
    handles, _ = left.get_legend_handles_labels()
    key(figure, handles)
    return figure


def draw_energy(rows: Sequence[Row], found: Sequence[Series]) -> Figure:
    """The energy of a run against tiles, and against its time, a line a network; a ring is at the network's knee."""
    figure = Figure(figsize=(width_inches(), HEIGHT_INCHES))
    left, right = figure.subplots(1, 2, sharey=True)
    for number, one in enumerate(found):
        microjoules = [_energy_pj(rows, row) / 1e6 for row in one.rows]
        _line(left, one, number, microjoules)
        _line(right, one, number, microjoules, [row.time_us for row in one.rows])
        for row, energy in zip(one.rows, microjoules, strict=True):
            place = (row.time_us, energy)
            right.annotate(str(row.tiles), place, (0, 5), textcoords="offset points", ha="center", fontsize=5)
    _tiles_axis(left, found)
    left.set(ylabel="energy of a run, µJ", ylim=(0, None), title="Against tiles")
    right.set_xscale("log")
    right.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    right.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    right.minorticks_off()
    right.set(xlabel="time of a run, µs", title="Against time, with tiles")
    handles, _ = left.get_legend_handles_labels()
    key(figure, handles)
    return figure


def _energy_pj(rows: Sequence[Row], chip: ScaledRow) -> float:
    measures = rows[chip.row]["measures"]
    return measures["energy_pj"] if measures else 0.0


def _line(axes: Any, one: Series, number: int, values: Sequence[float], places: Sequence[float] | None = None) -> None:
    hue, marker = colour(f"series:{number % 8}"), MARKERS[number % len(MARKERS)]
    across = places or [row.tiles for row in one.rows]
    axes.plot(across, values, color=hue, marker=marker, markersize=3, linewidth=1.1, label=label(one.network))
    ring = {"markersize": 8, "markerfacecolor": "none", "markeredgecolor": hue, "markeredgewidth": 0.8}
    axes.plot(across[one.knee], values[one.knee], marker="o", linestyle="none", **ring)


def _tiles_axis(axes: Any, found: Sequence[Series]) -> None:
    tiles = sorted({row.tiles for one in found for row in one.rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(tiles if len(tiles) <= 9 else tiles[:: -(-len(tiles) // 9)])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.set_xlabel("tiles (ring: knee)")


# ---- what is lost


def draw_losses(rows: Sequence[Row], one: Series) -> Figure:
    """Left the waterfall of the step beyond the knee, or of all where there is none; right what the cycles of all tiles
    went into on each chip, against the fewest tiles.
    """
    figure = Figure(figsize=(width_inches(), HEIGHT_INCHES))
    left, right = figure.subplots(1, 2, width_ratios=(3, 3))
    before, after = (one.knee, one.knee + 1) if one.knee + 1 < len(one.rows) else (0, one.knee)
    _waterfall(left, rows, one, before, after)
    shown = _stacks(right, rows, one)
    handles = [Patch(color=colour("lost:ideal"), label="as with the fewest tiles")]
    key(figure, [*handles, *(Patch(color=colour(f"lost:{name}"), label=LOSSES[name].words) for name in shown)])
    return figure


def _waterfall(axes: Any, rows: Sequence[Row], one: Series, before: int, after: int) -> None:
    found = between(rows, one, before, after)
    parts = [(name, part) for name, part in found.parts.items() if abs(part) >= LEAST]
    ends = np.cumsum([found.ideal, *(part for _, part in parts)])
    names = ["ideal", *(LOSSES[name].words for name, _ in parts), "taken"]
    hues = [colour("lost:ideal"), *(colour(f"lost:{name}") for name, _ in parts), colour("muted")]
    widths = [found.ideal, *(part for _, part in parts), found.actual]
    axes.barh(range(len(names)), widths, left=[0, *ends[:-1], 0], height=0.66, color=hues)
    for row, end in enumerate(ends):
        axes.plot([end, end], [row - 0.33, row + 1.33], color=colour("muted"), linewidth=0.5)
    for row, width in enumerate(widths):
        right = max(ends[row], ends[row] - width) if row < len(ends) else found.actual
        words = f"{width:+,.0f}" if 0 < row < len(ends) else f"{width:,.0f}"
        axes.annotate(words, (right, row), (3, 0), textcoords="offset points", va="center", fontsize=6)
    name_rows(axes, names)
    axes.set(xlim=(0, 1.17 * max(found.actual, *ends)), ylim=(len(names) - 0.4, -0.6))
    axes.xaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
    first, last = one.rows[before].tiles, one.rows[after].tiles
    axes.set(
        xlabel=f"cycles with {tiles_words(last)}", title=f"{label(one.network, 18)}: lost from {first} to {last} tiles"
    )


def _stacks(axes: Any, rows: Sequence[Row], one: Series) -> list[Lost]:
    """Bars of shares, those below nothing downwards; which losses there are."""
    lost = _shares(rows, one)
    shown = [name for name, parts in lost.items() if np.abs(parts).max() > 1e-3]
    ups, downs = np.zeros(len(one.rows)), np.zeros(len(one.rows))
    efficiency = np.array([row.efficiency for row in one.rows])
    for name, heights in (("ideal", efficiency), *((name, lost[name]) for name in shown)):
        below = np.where(heights < 0, downs, ups)
        axes.bar(range(len(heights)), heights, 0.72, below, color=colour(f"lost:{name}"))
        ups, downs = ups + heights.clip(0), downs + heights.clip(None, 0)
    _name_chips(axes, one)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set(xlabel="tiles", ylim=(min(0, downs.min()), max(1, ups.max())), title="The cycles of all tiles")
    return shown


def _name_chips(axes: Any, one: Series) -> None:
    """Write so many tile counts beneath columns as there is room for."""
    shown = range(0, len(one.rows), -(-len(one.rows) // MOST_TICKS))
    axes.set_xticks(shown, [f"{one.rows[place].tiles:,}" for place in shown])


def _shares(rows: Sequence[Row], one: Series) -> dict[Lost, NDArray[np.float64]]:
    """(chip): what is lost against the fewest tiles, as a share of the cycles of all tiles."""
    description, first = description_of(one.machine), one.rows[0].tiles
    parts = [spent(measures, description) for row in one.rows if (measures := rows[row.row]["measures"])]
    tiles, cycles = np.array([(row.tiles, row.cycles) for row in one.rows], np.float64).T
    return {
        name: (np.array([part[name] for part in parts]) - parts[0][name] * first / tiles) / cycles for name in LOSSES
    }


# ---- layers


def draw_layers(rows: Sequence[Row], one: Series) -> Figure:
    """A row a layer, a column a chip: the layer's efficiency. A frame is at its knee; at the right is what holds it."""
    layers = layer_scaling(rows, one)
    height = min(TALLEST_INCHES, 0.9 + LAYER_INCHES * len(layers))
    figure = Figure(figsize=(width_inches(), height))
    axes = figure.add_subplot()
    room = min(6.0, 0.8 * (height - 0.9) * 72 / max(1, len(layers)))
    shares = np.array([_efficiencies(layer, one) for layer in layers]).reshape(len(layers), len(one.rows))
    axes.imshow(_shaded(shares), aspect="auto", interpolation="nearest")
    for (row, column), value in np.ndenumerate(shares if len(one.rows) <= MOST_NUMBERS else shares[:0]):
        words = "–" if np.isnan(value) else f"{value:.0%}"
        axes.annotate(words, (column, row), ha="center", va="center", fontsize=room)
    for row, layer in enumerate(layers):
        if layer.held_by:
            axes.add_patch(_frame(layer.knee, row))
            words = held_words(layer.held_by)
            place = (len(one.rows) - 0.5, row)
            axes.annotate(words, place, (4, 0), textcoords="offset points", va="center", fontsize=room)
    axes.set_yticks(range(len(layers)), [label(short_name(layer.name), 30) for layer in layers], fontsize=room)
    _name_chips(axes, one)
    axes.set(xlabel="tiles of the chip", title=f"{label(one.network)}: efficiency of layers, and what holds them")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure


def _efficiencies(layer: LayerScaling, one: Series) -> list[float]:
    """Of the layer on each chip; not a number where it is not."""
    costs = [chip.cycles * row.tiles if chip else np.nan for chip, row in zip(layer.chips, one.rows, strict=True)]
    first = next(cost for cost in costs if not np.isnan(cost))
    return [first / cost for cost in costs]


def _shaded(shares: Any) -> Any:
    """From white at 0 to the hue at 1."""
    weights = np.nan_to_num(shares).clip(0, 1)[..., None] * PALEST
    return 1 - weights * (1 - rgb([colour("busy")]))


def _frame(column: int, row: int) -> Any:
    return Rectangle((column - 0.47, row - 0.46), 0.94, 0.92, fill=False, edgecolor=colour("accent"), linewidth=1.0)
