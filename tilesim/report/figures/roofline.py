"""Rooflines of the chip, with the layers on them."""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, degrees
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tilesim.report.analysis.layers import layers
from tilesim.report.analysis.roofline import Roofline, rooflines
from tilesim.report.figures.marks import LABEL_POINTS, Box, around, label_places, merged
from tilesim.report.figures.style import colour, is_narrow, key, width_inches
from tilesim.report.words import cause_words
from tilesim.statistics import RunStatistics

GIGA = 1e9
PANELS = 2
HEIGHT_INCHES = 3.1
MARKERS = {"convolution": "o", "depthwise": "^", "fully connected": "s"}
OTHER_MARKER = "D"
NOTES = ("Numbers, where there is room: layers. Size: cycles.", "A marker that would cover another stands beside it.")
SLANT_PARTS = 400
BEYOND = 4.0
"""Layers that moved no byte stand beyond all others: the strip for them is so many times as far to the right."""


def draw(statistics: RunStatistics) -> Figure | None:
    """The first rooflines that :func:`rooflines` finds, side by side, or in one column one below the other; None if
    there is none.
    """
    lines = rooflines(statistics, layers(statistics))[:PANELS]
    if not lines:
        return None
    below = is_narrow()
    size = (
        (width_inches(), HEIGHT_INCHES * len(lines)) if below else (width_inches() * len(lines) / PANELS, HEIGHT_INCHES)
    )
    figure = Figure(figsize=size)
    shape = (len(lines), 1) if below else (1, len(lines))
    panels = figure.subplots(*shape, sharey=True, squeeze=False).ravel()
    for axes, roofline in zip(panels, lines, strict=True):
        _panel(axes, roofline)
    for axes in panels if below else panels[:1]:
        axes.set_ylabel("10⁹ MACs a second")
    key(figure, _key(lines[0]))
    notes = ("\n" if below or len(lines) < PANELS else " ").join(NOTES)
    figure.supxlabel(notes, fontsize=6, color=colour("muted"))
    figure.draw_without_rendering()  # what slants how much, and what covers what, is known once all has its place
    figure.set_layout_engine("none")
    for axes, roofline in zip(panels, lines, strict=True):
        _slant(axes, roofline)
        _dots(axes, roofline)
    return figure


def _panel(axes: Any, line: Roofline) -> None:
    first, last, lowest = limits(line)
    none_at = _none_at(line)
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


def _none_at(line: Roofline) -> float | None:
    """Where layers without bytes stand, if there are any."""
    return None if all(dot.bytes for dot in line.dots) else limits(line)[1] * BEYOND**0.5


def _dots(axes: Any, line: Roofline) -> None:
    """A marker a layer, or for those that would cover one another, as large as their share of the cycles; the numbers
    of its layers beside it.
    """
    none_at, points = _none_at(line), axes.figure.dpi / 72
    wanted = np.array([(dot.intensity or none_at, dot.achieved / GIGA) for dot in line.dots], np.float64)
    marks = merged(line.dots, axes.transData.transform(wanted) / points)
    for mark in marks:
        at = axes.transData.inverted().transform(np.array(mark.place) * points)
        axes.plot(
            *at[:, None], MARKERS.get(mark.kind, OTHER_MARKER), markersize=2 * mark.radius, clip_on=False,
            color=colour(f"cause:{mark.bound_by}"), markeredgecolor="white", markeredgewidth=0.4,
        )  # fmt: skip
    inside = Box(*(axes.bbox.extents / points).tolist())
    for mark, place in zip(marks, label_places(marks, inside, [*_words(axes, line)]), strict=True):
        if place is not None:
            axes.annotate(
                mark.words, np.array(place) * points, xycoords="figure pixels", fontsize=LABEL_POINTS, va="center",
                ha="center", annotation_clip=False, color=colour("muted"),
            )  # fmt: skip


def _words(axes: Any, line: Roofline) -> Iterator[Box]:
    """The roofs and their words, in points: what labels must not cover."""
    points = axes.figure.dpi / 72
    inside = axes.bbox.extents / points
    for text in axes.texts[: len(line.peaks)]:
        yield Box(*(text.get_window_extent().extents / points).tolist())
    for peak in line.peaks:
        [[_, y]] = axes.transData.transform([(1, peak.per_second / GIGA)]) / points
        yield Box(inside[0], y - 1, inside[2], y + 1)
    highest, rate = line.highest / GIGA, line.roof.per_second / GIGA
    ends = axes.transData.transform([(highest / rate / 1e6, highest / 1e6), (highest / rate, highest)]) / points
    for x, y in np.linspace(ends[0], ends[1], SLANT_PARTS).tolist():
        yield around((x - LABEL_POINTS / 2, y + LABEL_POINTS / 2), LABEL_POINTS, LABEL_POINTS)


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
