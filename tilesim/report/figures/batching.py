"""Batches of inferences: what they keep in the unified buffer, against the weights that they fetch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from tilesim.report.analysis.batching import batch_lanes, footprint
from tilesim.report.comparison import ComparedBatches, ComparedRun
from tilesim.report.figures.style import TALLEST_INCHES, colour, cycles_axis, key, label, name_rows, width_inches
from tilesim.statistics import BatchingStatistics, RunStatistics
from tilesim.units import format_bytes

HEIGHT_INCHES = 2.6
LANE_INCHES = 0.13
MOST_TICKS = 5


def draw(statistics: RunStatistics, batching: BatchingStatistics) -> Figure:
    """Of one run: the footprint over time, and below it the batches of each layer."""
    rows = batch_lanes(statistics["layers"], batching["steps"])
    height = min(TALLEST_INCHES, HEIGHT_INCHES + LANE_INCHES * len(rows))
    figure = Figure(figsize=(width_inches(), height))
    ratios = HEIGHT_INCHES - 0.6, max(1, len(rows)) * LANE_INCHES
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=ratios)
    cycles, sizes = np.array(footprint(batching["steps"]), np.int64).reshape(-1, 2).T
    above.fill_between(cycles, sizes, step="post", color=colour("busy"), alpha=0.25, linewidth=0)
    above.step(cycles, sizes, where="post", color=colour("busy"), linewidth=0.8)
    _bytes_axis(above.yaxis, batching["peak_buffer_bytes"])
    above.set(ylabel="in the unified buffer", ylim=(0, 1.08 * max(1, batching["peak_buffer_bytes"])))
    for row, lane in enumerate(rows):
        own = [step for step in batching["steps"] if step["layer"] == lane.number]
        spans = [(step["start_cycle"], step["end_cycle"] - step["start_cycle"]) for step in own]
        below.broken_barh(spans, (row - 0.36, 0.72), color=colour("busy"), edgecolor="white", linewidth=0.2)
    name_rows(below, [f"{lane.number} {label(lane.short, 24)}" for lane in rows])
    below.set_ylim(max(1, len(rows)) - 0.4, -0.6)
    cycles_axis(below, statistics["cycles"], statistics["clock_hz"])
    return figure


def draw_comparison(runs: Sequence[ComparedRun]) -> Figure:
    """Of several runs of a comparison: left the largest footprint against the weights that were fetched, right the
    footprint over time; ``runs`` without batches are left out.
    """
    figure = Figure(figsize=(width_inches(), HEIGHT_INCHES))
    trade, time = figure.subplots(1, 2, sharey=True, width_ratios=(2, 3))
    batched = [(k, run, run["batching"]) for k, run in enumerate(runs) if run["batching"]]
    most = max(batches["peak_buffer_bytes"] for _, _, batches in batched)
    fetched = max(batches["weight_bytes"] for _, _, batches in batched)
    for number, run, batches in batched:
        hue = colour(f"series:{number % 8}")
        _dot(trade, batches, hue, fetched)
        cycles, sizes = np.array(batches["footprint"], np.int64).reshape(-1, 2).T
        time.step(cycles, sizes, where="post", color=hue, linewidth=0.8, label=label(run["name"]))
    _bytes_axis(trade.yaxis, most)
    _bytes_axis(trade.xaxis, fetched, 3)
    trade.set(xlim=(0, 1.12 * max(1, fetched)), ylim=(0, 1.08 * max(1, most)))
    trade.set(xlabel="weights fetched", ylabel="most in the unified buffer", title="Footprint against weights")
    time.set(
        xlim=(0, max(run["cycles"] for _, run, _ in batched)), xlabel="cycle of the run", title="Footprint over time"
    )
    time.xaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
    key(figure)
    return figure


def _dot(axes: Any, batches: ComparedBatches, hue: str, most: int) -> None:
    """A run's dot, and its words on the side where there is room."""
    at = batches["weight_bytes"], batches["peak_buffer_bytes"]
    left = at[0] > 0.6 * most
    axes.scatter(*at, s=18, color=hue, zorder=3)
    axes.annotate(
        f"{label(batches['schedule'])}: {batches['weight_set_loads']:,} weight sets", at, (-5 if left else 5, 0),
        textcoords="offset points", ha="right" if left else "left", va="center", fontsize=6,
    )  # fmt: skip


def _bytes_axis(axis: Any, most: int, ticks: int = MOST_TICKS) -> None:
    """Powers of two apart, and in their units."""
    axis.set_major_locator(MultipleLocator(1 << max(0, (max(1, most) // ticks).bit_length())))
    axis.set_major_formatter(lambda value, _: format_bytes(int(value)))
