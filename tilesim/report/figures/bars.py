"""Bars of cycles: what those of several runs went into, why units wait, and the layers of a run, a row each."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from tilesim.report.analysis.contention import KindAccount, accounts
from tilesim.report.analysis.layers import LayerRow, beside, causes, layers, total
from tilesim.report.comparison import ComparisonDocument
from tilesim.report.figures.style import (
    TALLEST_INCHES,
    bars,
    colour,
    is_narrow,
    key,
    label,
    name_rows,
    stack_bars,
    width_inches,
)
from tilesim.report.tracks import kind_of, stacked
from tilesim.report.words import cause_words
from tilesim.statistics import RunStatistics

RUN_INCHES = 0.3
KIND_INCHES = 0.17
LAYER_INCHES = 0.135
HEIGHT = 0.78
"""Of a bar, where rows are 1 apart."""
KIB, MICROJOULE_PJ = 1024, 1e6


def draw_comparison(document: ComparisonDocument) -> Figure:
    """A bar for each run of a comparison, as the average MAC array of its chip spent the cycles, cause by cause."""
    runs = document["runs"]
    figure = Figure(figsize=(width_inches(), 0.9 + RUN_INCHES * len(runs)))
    axes = figure.add_subplot()
    parts = [
        (cause_words(cause["cause"]), colour(f"cause:{cause['cause']}"), [cycles or 0.0 for cycles in cause["cycles"]])
        for cause in document["causes"]
    ]
    ends = stack_bars(axes, parts, len(runs), 0.72)
    for row, run in enumerate(runs):
        words = f"{run['cycles']:,}, {run['speed_up']:.2f} ×"
        axes.annotate(words, (ends[row], row), (3, 0), textcoords="offset points", va="center")
    name_rows(axes, [label(run["name"]) for run in runs])
    axes.set(xlim=(0, 1.18 * max(*ends, 1)), ylim=(len(runs) - 0.4, -0.6))
    axes.xaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
    axes.set_xlabel("cycles of the average MAC array")
    key(figure)
    return figure


def draw_stalls(statistics: RunStatistics) -> Figure:
    """A bar of all cycles for each kind of unit that was ever busy: the share of each reason to wait."""
    rows = [account for account, _ in accounts(statistics) if account.cycles["busy"]][::-1]
    figure = Figure(figsize=(width_inches(), 0.9 + KIND_INCHES * len(rows)))
    axes = figure.add_subplot()
    kinds = stacked({"busy", *(kind for account in rows for kind in account.cycles)} - {"idle"})
    parts = [
        (kind_of(kind).words, colour(kind), [account.cycles.get(kind, 0) / max(1, account.total) for account in rows])
        for kind in (*kinds, "idle")
    ]
    stack_bars(axes, parts, len(rows), HEIGHT)
    name_rows(axes, [_words(account) for account in rows])
    axes.set(xlim=(0, 1), ylim=(-0.6, len(rows) - 0.4))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("share of the cycles of all units of a kind")
    key(figure)
    return figure


def _words(account: KindAccount) -> str:
    count = len(account.tracks)
    return account.words if count == 1 else f"{count} {account.words}"


def draw_layers(statistics: RunStatistics) -> Figure:
    """A row a layer: where the MAC arrays' cycles went, the share of MACs in use, and where there are two columns bytes
    and energy; the cycles of all rows together are the run's.
    """
    of_layers = layers(statistics)
    rows = [*of_layers, beside(statistics, of_layers)]
    count = 2 if is_narrow() else 3 + (rows[-1].energy_pj is not None)
    height = min(TALLEST_INCHES, 1.1 + LAYER_INCHES * len(rows))
    figure = Figure(figsize=(width_inches(), height))
    panels = figure.subplots(1, count, sharey=True, width_ratios=[5, 1.6, 2, 1.6][:count])
    names = [
        label(row.name if row.index is None else f"{row.name}  {row.index}", 18 if count == 2 else 30) for row in rows
    ]
    points = (height - 1.1) * 72 / len(rows)
    panels[0].set_yticks(range(len(rows)), names, fontsize=min(6.0, 0.8 * points))
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    _causes(panels[0], statistics, rows)
    bars(panels[1], [row.in_use * 100 for row in rows], colour("busy"), HEIGHT)
    panels[1].set_xlabel("MACs, %" if count == 2 else "MACs in use, %")
    if count > 2:
        _bytes(panels[2], rows)
    if count > 3:
        microjoules = [(row.energy_pj or 0) / MICROJOULE_PJ for row in rows]
        bars(panels[3], microjoules, colour("energy"), HEIGHT)
        panels[3].set_xlabel("energy, µJ")
    for axes, where, columns in ((panels[0], "left", 4), *((axes, "right", 2) for axes in panels[2:3])):
        place: Any = f"outside upper {where}"
        handles, _ = axes.get_legend_handles_labels()
        figure.legend(handles=handles, loc=place, ncols=columns, handlelength=1, columnspacing=1)
    for axes in panels:
        axes.tick_params(axis="y", length=0)
    return figure


def _causes(axes: Any, statistics: RunStatistics, rows: list[LayerRow]) -> None:
    arrays = max(1, total(statistics).tiles)
    parts = [
        (cause_words(cause), colour(f"cause:{cause}"), [row.breakdown.get(cause, 0) / arrays for row in rows])
        for cause in causes(statistics)
    ]
    *ends, rest = stack_bars(axes, parts, len(rows), HEIGHT)
    axes.set_xlim(0, 1.05 * max([*ends, 1]))
    if rest > axes.get_xlim()[1]:
        place = axes.get_yaxis_transform()
        axes.annotate(f"{rest / 1000:,.1f} ", (1, len(rows) - 1), xycoords=place, ha="right", va="center")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}")
    axes.set_xlabel("1,000 cycles" if is_narrow() else "1,000 cycles, mean of the MAC arrays")


def _bytes(axes: Any, rows: list[LayerRow]) -> None:
    parts = [
        (bus.replace("_", " "), colour(f"cause:{bus}"), [row.entered.get(bus, 0) / KIB for row in rows])
        for bus in rows[0].entered
    ]
    stack_bars(axes, parts, len(rows), HEIGHT)
    axes.set_xlabel("KiB that entered a bus")
