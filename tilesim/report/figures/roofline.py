"""The roofline of the chip, with the layers on it."""

from __future__ import annotations

from math import atan2, degrees
from typing import TYPE_CHECKING, Any

from tilesim.report.analysis.layers import layers
from tilesim.report.analysis.roofline import Dot, Roof, Roofline, rooflines
from tilesim.report.costs import Statistics, cause_words
from tilesim.report.figures.style import colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GIGA = 1e9
SIZE_INCHES = (4.8, 3.4)
MARKERS = {"convolution": "o", "depthwise": "^", "fully connected": "s"}
OTHER_MARKER = "D"
BEYOND = 4.0
"""Layers that moved no byte stand beyond all others: the strip for them is so many times as far to the right."""


def draw(statistics: Statistics) -> Figure | None:
    """Under the first roofline that :func:`rooflines` finds; None if there is none."""
    from matplotlib.figure import Figure

    found = rooflines(statistics, layers(statistics))
    if not found:
        return None
    figure = Figure(figsize=SIZE_INCHES)
    axes = figure.add_subplot(xscale="log", yscale="log")
    first, last, lowest = limits(found[0])
    none_at = last * BEYOND**0.5 if any(dot.intensity is None for dot in found[0].dots) else None
    axes.set(xlim=(first, last * BEYOND if none_at else last), ylim=(lowest, _highest(found[0]) * 2))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.set(xlabel=f"MACs per {found[0].words}", ylabel="10⁹ MACs a second")
    axes.grid(which="major", color=colour("line"), linewidth=0.4)
    axes.set_axisbelow(True)
    for dot in found[0].dots:
        _dot(axes, dot, dot.intensity or none_at)
    if none_at:
        axes.axvline(last, color=colour("muted"), linewidth=0.6, linestyle=":")
        axes.text(none_at, lowest * 1.2, "no bytes", ha="center", color=colour("muted"))
    figure.legend(handles=_key(found[0]), loc="outside upper center", ncols=4, handlelength=1.2, columnspacing=1.2)
    _roofs(figure, axes, found[0])
    return figure


def limits(found: Roofline) -> tuple[float, float, float]:
    """The lowest and highest intensity, and the lowest rate, that is drawn: all dots, and room to see all roofs."""
    known = [dot.intensity for dot in found.dots if dot.intensity is not None]
    ridges = [_highest(found) * GIGA / roof.per_second for roof in (*found.roofs, *found.sources)]
    lowest = min([*(dot.achieved for dot in found.dots), *(peak.per_second for peak in found.peaks)]) / GIGA / 3
    return min([*known, *ridges]) / 8, max([*known, *ridges]) * 3, lowest


def _highest(found: Roofline) -> float:
    """The highest roof, in 10^9 MACs a second."""
    return max(peak.per_second for peak in found.peaks) / GIGA


def _roofs(figure: Figure, axes: Any, found: Roofline) -> None:
    """Flat ones over all, slanted ones up to the highest of those, their words along them."""
    figure.draw_without_rendering()  # what slants how much is known once everything has its place
    for peak in found.peaks:
        axes.axhline(peak.per_second / GIGA, color=colour("fg"), linewidth=0.9)
        axes.annotate(
            peak.words, (1, peak.per_second / GIGA), (-2, 2), xycoords=axes.get_yaxis_transform(),
            textcoords="offset points", ha="right", fontsize=6,
        )  # fmt: skip
    for roof in found.roofs:
        _slant(axes, roof, _highest(found), "-", roof.words)
    for roof in found.sources:
        _slant(axes, roof, _highest(found), "--", f"all from {roof.words}")


def _slant(axes: Any, roof: Roof, highest: float, line: str, words: str) -> None:
    rate = roof.per_second / GIGA
    ends = [(highest / rate / far, highest / far) for far in (1e6, 1)]
    axes.plot(*zip(*ends, strict=True), line, color=colour("muted"), linewidth=0.9)
    (x0, y0), (x1, y1) = axes.transData.transform(ends)
    axes.annotate(
        words, ends[1], (-4, -2), textcoords="offset points", ha="right", va="bottom", rotation_mode="anchor",
        rotation=degrees(atan2(y1 - y0, x1 - x0)), fontsize=6, color=colour("muted"), in_layout=False,
    )  # fmt: skip


def _dot(axes: Any, dot: Dot, place: float | None) -> None:
    axes.plot(
        [place], [dot.achieved / GIGA], MARKERS.get(dot.layer.kind, OTHER_MARKER), markersize=4.5,
        color=colour(f"cause:{dot.layer.bound_by}"), markeredgecolor="white", markeredgewidth=0.4,
    )  # fmt: skip


def _key(found: Roofline) -> list[Any]:
    """What colours and markers mean."""
    from matplotlib.lines import Line2D

    kinds = {MARKERS.get(dot.layer.kind, OTHER_MARKER): dot.layer.kind for dot in found.dots}
    if OTHER_MARKER in kinds:
        kinds[OTHER_MARKER] = "another kind"
    looks = [(colour("muted"), marker, kind) for marker, kind in kinds.items()]
    looks += [
        (colour(f"cause:{cause}"), "o", f"bound by {cause_words(cause)}")
        for cause in dict.fromkeys(dot.layer.bound_by for dot in found.dots)
    ]
    return [
        Line2D([], [], linestyle="", color=hue, marker=marker, markersize=4.5, label=words)
        for hue, marker, words in looks
    ]
