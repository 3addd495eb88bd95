"""The layers of a run, a row each: where the MAC arrays' cycles went, the share of MACs in use, bytes, energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilesim.report.analysis.layers import Layer, beside, causes, layers, total
from tilesim.report.costs import cause_words
from tilesim.report.figures.style import TALLEST_INCHES, WIDTH_INCHES, colour, label
from tilesim.statistics import RunStatistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW_INCHES = 0.135
KIB, MICROJOULE_PJ = 1024, 1e6


def draw(statistics: RunStatistics) -> Figure:
    """Panels side by side; the cycles of all rows together are the run's."""
    from matplotlib.figure import Figure

    of_layers = layers(statistics)
    rows = [*of_layers, beside(statistics, of_layers)]
    energy = rows[-1].energy_pj is not None
    height = min(TALLEST_INCHES, 1.1 + ROW_INCHES * len(rows))
    figure = Figure(figsize=(WIDTH_INCHES, height))
    panels = figure.subplots(1, 3 + energy, sharey=True, width_ratios=[5, 1.6, 2, 1.6][: 3 + energy])
    names = [label(row.name if row.index is None else f"{row.name}  {row.index}", 30) for row in rows]
    room = (height - 1.1) * 72 / len(rows)
    panels[0].set_yticks(range(len(rows)), names, fontsize=min(6.0, 0.8 * room))
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    _causes(panels[0], statistics, rows)
    panels[1].barh(range(len(rows)), [row.in_use * 100 for row in rows], height=0.78, color=colour("busy"))
    panels[1].set_xlabel("MACs in use, %")
    _bytes(panels[2], rows)
    if energy:
        panels[3].barh(range(len(rows)), [(row.energy_pj or 0) / MICROJOULE_PJ for row in rows], color=colour("muted"))
        panels[3].set_xlabel("energy, µJ")
    for axes, where, columns in ((panels[0], "left", 4), (panels[2], "right", 2)):
        place: Any = f"outside upper {where}"
        handles, _ = axes.get_legend_handles_labels()
        figure.legend(handles=handles, loc=place, ncols=columns, handlelength=1, columnspacing=1)
    for axes in panels:
        axes.tick_params(axis="y", length=0)
    return figure


def _causes(axes: Any, statistics: RunStatistics, rows: list[Layer]) -> None:
    arrays, left = max(1, total(statistics).tiles), [0.0] * len(rows)
    for cause in causes(statistics):
        widths = [row.breakdown.get(cause, 0) / arrays for row in rows]
        axes.barh(
            range(len(rows)), widths, left=left, height=0.78, color=colour(f"cause:{cause}"), label=cause_words(cause)
        )
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlim(0, 1.05 * max([*left[:-1], 1]))
    if left[-1] > axes.get_xlim()[1]:
        axes.annotate(
            f"{left[-1] / 1000:,.1f} ", (1, len(rows) - 1), xycoords=axes.get_yaxis_transform(), ha="right", va="center"
        )
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}")
    axes.set_xlabel("1,000 cycles, mean of the MAC arrays")


def _bytes(axes: Any, rows: list[Layer]) -> None:
    left = [0.0] * len(rows)
    for bus in rows[0].entered:
        widths = [row.entered.get(bus, 0) / KIB for row in rows]
        axes.barh(
            range(len(rows)), widths, left=left, height=0.78, color=colour(f"cause:{bus}"),
            label=bus.replace("_", " "),
        )  # fmt: skip
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlabel("KiB that entered a bus")
