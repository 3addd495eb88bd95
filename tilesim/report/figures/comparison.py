"""Several runs side by side: what the cycles of each went into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilesim.report.comparison import ComparisonDocument
from tilesim.report.costs import cause_words
from tilesim.report.figures.style import WIDTH_INCHES, colour, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW_INCHES = 0.3


def draw(document: ComparisonDocument) -> Figure:
    """A bar for each run of a comparison, as the average MAC array of its chip spent the cycles, cause by cause."""
    from matplotlib.figure import Figure

    runs = document["runs"]
    figure = Figure(figsize=(WIDTH_INCHES, 0.9 + ROW_INCHES * len(runs)))
    axes = figure.add_subplot()
    left = [0.0] * len(runs)
    for cause in document["causes"]:
        words, cycles = cause_words(cause["cause"]), cause["cycles"]
        axes.barh(
            range(len(runs)), cycles, left=left, height=0.72, color=colour(f"cause:{cause['cause']}"), label=words
        )
        left = [a + b for a, b in zip(left, cycles, strict=True)]
    for row, run in enumerate(runs):
        axes.annotate(
            f"{run['cycles']:,}, {run['speed_up']:.2f} ×",
            (left[row], row),
            (3, 0),
            textcoords="offset points",
            va="center",
        )
    axes.set_yticks(range(len(runs)), [label(run["name"]) for run in runs])
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, 1.18 * max(*left, 1)), ylim=(len(runs) - 0.4, -0.6))
    axes.xaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
    axes.set_xlabel("cycles of the average MAC array")
    figure.legend(loc="outside upper center", ncols=5, handlelength=1, columnspacing=1.2)
    return figure
