"""A tornado: what a step of each key of a chip changes, the largest effect on time first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tilesim.printable import counted
from tilesim.report.figures.style import TALLEST_INCHES, colour, key, label, name_rows, width_inches
from tilesim.report.sensitivity import (
    MEASURES,
    Measure,
    SensitivityDocument,
    SensitivityKey,
    SensitivityStep,
    by_key,
    change_words,
    matters,
    ratio,
    value_words,
)

STEP_INCHES = 0.13
FRAME_INCHES = 1.0
MOST_STEPS = int((TALLEST_INCHES - FRAME_INCHES) / STEP_INCHES)
HEIGHT = 0.78
"""Of a bar, where rows are 1 apart."""
ROOM = 0.7
"""On each side of the bars, for their words: so much of what the bars take."""
Keys = Sequence[tuple[SensitivityKey, list[SensitivityStep]]]
TICKS = (64, 16, 8, 4, 2, 1.5, 1.2, 1.1, 1.05, 1.01)
"""Ratios that an axis may have a tick at, and at their inverses: the largest that there is room for."""


def draw(document: SensitivityDocument) -> Figure:
    """A row a step, and in it a bar for time, cycles and energy: as long as the logarithm of the ratio, so that half as
    much and twice as much are equally long. Keys of small effect that the page has no room for are left out.
    """
    effective = [(key, steps) for key, steps in by_key(document) if matters(steps)]
    shown, left_out = _that_fit(effective)
    rows = [(key, step) for key, steps in shown for step in steps]
    figure = Figure(figsize=(width_inches(), FRAME_INCHES + STEP_INCHES * max(1, len(rows))))
    panels = figure.subplots(1, len(MEASURES), sharey=True)
    for axes, measure in zip(panels, MEASURES, strict=True):
        _bars(axes, measure, [ratio(step, measure) for _, step in rows])
    reach = max([abs(log2(each)) for _, step in rows for m in MEASURES if (each := ratio(step, m))], default=1.0)
    for axes in panels:
        _scale(axes, max(reach, 0.05))
    name_rows(panels[0], [*_names(rows)])
    panels[0].set_ylim(max(1, len(rows)) - 0.4, -0.6)
    if left_out:
        panels[-1].annotate(
            f"and {counted(left_out, 'key')} of less effect", (1, 0), (0, -22), xycoords="axes fraction",
            textcoords="offset points", ha="right", fontsize=6,
        )  # fmt: skip
    key(figure, [Patch(color=colour("better"), label="− less"), Patch(color=colour("worse"), label="+ more")])
    return figure


def _that_fit(keys: Keys) -> tuple[Keys, int]:
    """The first keys, each with the steps that ran, and how many more there are."""
    ran = [(key, [step for step in steps if step["status"] == "ran"]) for key, steps in keys]
    ends = [sum(len(steps) for _, steps in ran[: k + 1]) for k in range(len(ran))]
    count = sum(end <= MOST_STEPS for end in ends)
    return ran[:count], len(ran) - count


def _names(rows: Sequence[tuple[SensitivityKey, SensitivityStep]]) -> Iterator[str]:
    """The key before the first of its steps, and the values of each."""
    last = ""
    for of, step in rows:
        own = value_words(of["key"], of["value"])
        change = f"{label(own, 12)} → {label(value_words(of['key'], step['value']), 12)}"
        yield change if of["key"] == last else f"{label(of['key'])}   {change}"
        last = of["key"]


def _bars(axes: Any, measure: Measure, ratios: Sequence[float | None]) -> None:
    for row, each in enumerate(ratios):
        if not each:
            continue
        length, less = log2(each), each < 1
        axes.barh(row, length, height=HEIGHT, color=colour("better" if less else "worse"))
        axes.annotate(
            change_words(each), (length, row), (-2 if less else 2, 0), textcoords="offset points",
            ha="right" if less else "left", va="center", fontsize=5.5, color=colour("muted") if each == 1 else "black",
        )  # fmt: skip
    axes.axvline(0, color=colour("muted"), linewidth=0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title(measure)


def _scale(axes: Any, reach: float) -> None:
    axes.set_xlim(-reach * (1 + ROOM), reach * (1 + ROOM))
    most = next((each for each in TICKS if log2(each) <= reach * (1 + ROOM) * 0.8), TICKS[-1])
    ticks = 1 / most, 1, most
    axes.set_xticks([log2(each) for each in ticks], ["0" if each == 1 else f"{each - 1:+.0%}" for each in ticks])
