"""Rooflines of the chip, with the layers on them."""

from __future__ import annotations

from math import atan2, degrees
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tilesim.report.analysis.layers import layers
from tilesim.report.analysis.roofline import Dot, Roofline, rooflines
from tilesim.report.figures.style import colour, width_inches
from tilesim.report.words import cause_words
from tilesim.statistics import RunStatistics

GIGA = 1e9
PANELS = 2
HEIGHT_INCHES = 3.1
MARKERS = {"convolution": "o", "depthwise": "^", "fully connected": "s"}
OTHER_MARKER = "D"
BEYOND = 4.0
"""Layers that moved no byte stand beyond all others: the strip for them is so many times as far to the right."""


def draw(statistics: RunStatistics) -> Figure | None:
    """The first rooflines that :func:`rooflines` finds, side by side; None if there is none."""
    lines = rooflines(statistics, layers(statistics))[:PANELS]
    if not lines:
        return None
    figure = Figure(figsize=(width_inches() * len(lines) / PANELS, HEIGHT_INCHES))
    panels = figure.subplots(1, len(lines), sharey=True, squeeze=False)[0]
    for axes, roofline in zip(panels, lines, strict=True):
        _panel(axes, roofline)
    panels[0].set_ylabel("10⁹ MACs a second")
    figure.legend(handles=_key(lines[0]), loc="outside upper center", ncols=5, handlelength=1.2, columnspacing=1.2)
    figure.draw_without_rendering()  # what slants how much is known once everything has its place
    for axes, roofline in zip(panels, lines, strict=True):
        _slant(axes, roofline)
    return figure


def _panel(axes: Any, line: Roofline) -> None:
    first, last, lowest = limits(line)
    none_at = None if all(dot.bytes for dot in line.dots) else last * BEYOND**0.5
    axes.set(xscale="log", yscale="log", xlabel=f"MACs per {line.words}")
    axes.set(xlim=(first, last * BEYOND if none_at else last), ylim=(lowest, line.highest * 2 / GIGA))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.grid(which="major", color=colour("line"), linewidth=0.4)
    axes.set_axisbelow(True)
    for peak in line.peaks:
        axes.axhline(peak.per_second / GIGA, color=colour("fg"), linewidth=0.9)
        axes.annotate(
            peak.words, (1, peak.per_second / GIGA), (-2, 2), xycoords=axes.get_yaxis_transform(),
            textcoords="offset points", ha="right", fontsize=6,
        )  # fmt: skip
    for dot in line.dots:
        _dot(axes, dot, dot.intensity or none_at)
    if none_at:
        axes.axvline(last, color=colour("muted"), linewidth=0.6, linestyle=":")
        axes.text(none_at, lowest * 1.2, "no bytes", ha="center", color=colour("muted"))


def limits(line: Roofline) -> tuple[float, float, float]:
    """The lowest and highest intensity, and the lowest rate in 10^9 a second, that is drawn: room for all there is."""
    known = [dot.intensity for dot in line.dots if dot.intensity is not None]
    places = [*known, line.highest / line.roof.per_second]
    rates = [*(dot.achieved for dot in line.dots), *(peak.per_second for peak in line.peaks)]
    return min(places) / 8, max(places) * 4, min(rates) / GIGA / 3


def _slant(axes: Any, line: Roofline) -> None:
    """The slanted roof, up to the highest flat one, its words along it."""
    highest, rate = line.highest / GIGA, line.roof.per_second / GIGA
    ends = [(highest / rate / far, highest / far) for far in (1e6, 1)]
    (x0, y0), (x1, y1) = axes.transData.transform(ends)
    axes.plot(*zip(*ends, strict=True), color=colour("muted"), linewidth=0.9)
    axes.annotate(
        line.roof.words, ends[1], (-6, -4), textcoords="offset points", ha="right", va="bottom",
        rotation=degrees(atan2(y1 - y0, x1 - x0)), rotation_mode="anchor", fontsize=6, color=colour("muted"),
        in_layout=False,
    )  # fmt: skip


def _dot(axes: Any, dot: Dot, place: float | None) -> None:
    axes.plot(
        [place], [dot.achieved / GIGA], MARKERS.get(dot.layer.kind, OTHER_MARKER), markersize=4.5,
        color=colour(f"cause:{dot.layer.bound_by}"), markeredgecolor="white", markeredgewidth=0.4,
    )  # fmt: skip


def _key(line: Roofline) -> list[Any]:
    """What colours and markers mean."""
    kinds = {MARKERS.get(dot.layer.kind, OTHER_MARKER): dot.layer.kind for dot in line.dots}
    if OTHER_MARKER in kinds:
        kinds[OTHER_MARKER] = "another kind"
    causes = dict.fromkeys(dot.layer.bound_by for dot in line.dots)
    looks = [("white", marker, kind) for marker, kind in kinds.items()]
    looks += [(colour(f"cause:{cause}"), "s", f"bound by {cause_words(cause)}") for cause in causes]
    return [
        Line2D([], [], linestyle="", marker=marker, markersize=4.5, markerfacecolor=fill, label=words,
               markeredgecolor=colour("fg") if fill == "white" else fill, markeredgewidth=0.6)
        for fill, marker, words in looks
    ]  # fmt: skip
