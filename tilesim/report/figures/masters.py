"""Who occupies which nodes of a ring when: bare transfers that were tried, nodes over cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from tilesim.machines.trial import TrialDocument
from tilesim.report.analysis.masters import Cell, Occupancy, hues, letters, occupancy
from tilesim.report.figures.style import TALLEST_INCHES, colour, key, label, name_rows, width_inches

ROW_INCHES = 0.2
FRAME_INCHES = 1.0
LETTERED = 80
"""Cycles up to which there is room for letters."""
FAINT = 0.22
"""How strong the colour is where a transfer is under way, but has no row."""
MIDDLE = 0.5
STEPS = (1, 2, 5, 10, 20, 50)
"""Cycles from one that is named to the next."""


def draw(document: TrialDocument) -> Figure:
    """A row a node, a column a cycle. A full cell, with its transfer's letter: a row is sent, forwarded or taken there.
    A faint one: a transfer is under way past the node; a hatched one: two are. A frame: the rule is broken there.
    """
    occupied, nodes = occupancy(document), document["nodes"]
    figure = Figure(figsize=(width_inches(), min(TALLEST_INCHES, FRAME_INCHES + ROW_INCHES * len(nodes))))
    axes = figure.subplots()
    for place, cell in occupied.cells.items():
        if place[1] in occupied.window:
            _draw_cell(axes, place, cell, document, len(occupied.window) <= LETTERED)
    for place in _broken(document, occupied):
        axes.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor="black", linewidth=1.4, zorder=4))
    axes.set_xlim(occupied.window.start, occupied.window.stop)
    ticks = [*_ticks(occupied.window)]
    axes.set_xticks([cycle + MIDDLE for cycle in ticks], [f"{cycle:,}" for cycle in ticks])
    axes.set_ylim(len(nodes), 0)
    name_rows(axes, nodes, MIDDLE)
    axes.set_xlabel(_caption(document))
    axes.hlines(range(1, len(nodes)), occupied.window.start, occupied.window.stop, colour("idle"), linewidth=0.4)
    key(figure, [*_key(document, occupied)])
    return figure


def _draw_cell(axes: Any, place: tuple[int, int], cell: Cell, document: TrialDocument, lettered: bool) -> None:
    node, cycle = place
    of, names = hues(document), letters(document)
    for k, name in enumerate(cell.under_way):
        hatch = "////" if k else None
        axes.add_patch(
            Rectangle((cycle, node), 1, 1, facecolor=colour(of[name]) if not k else "none", alpha=FAINT if not k else 1,
                      hatch=hatch, edgecolor=colour(of[name]) if k else "none", linewidth=0, zorder=1 + k)
        )  # fmt: skip
    height = 1 / max(1, len(cell.passing))
    for k, name in enumerate(cell.passing):
        axes.add_patch(Rectangle((cycle, node + k * height), 1, height, facecolor=colour(of[name]), zorder=3))
        if lettered:
            axes.text(
                cycle + MIDDLE, node + (k + MIDDLE) * height, names[name], color="white", ha="center",
                va="center_baseline", fontsize=6 if len(cell.passing) == 1 else 4, weight="bold", zorder=3,
            )  # fmt: skip


def _broken(document: TrialDocument, occupied: Occupancy) -> Iterator[tuple[int, int]]:
    """Cycle and node of each place where the rule is broken."""
    for breach in document["picture"]["breaches"]:
        if breach["cycle"] in occupied.window:
            yield breach["cycle"], document["nodes"].index(breach["stop"])


def _ticks(window: range) -> Iterator[int]:
    """Round cycles, some ten of them."""
    step = next(step for step in STEPS if len(window) <= 16 * step)
    return (cycle for cycle in window if cycle % step == 0)


def _caption(document: TrialDocument) -> str:
    times = document["picture"]["start_times"]
    held = ", ".join(f"{name} {cycle:,}" for name, cycle in times.items())
    return f"cycle of the run{f' (begun no sooner than: {held})' if held else ''}"


def _key(document: TrialDocument, occupied: Occupancy) -> Iterator[Any]:
    of = hues(document)
    for transfer in document["transfers"]:
        words = f"{transfer['letter']}: {label(transfer['name'])} from {transfer['master']}"
        yield Patch(color=colour(of[transfer["name"]]), label=words)
    yield Patch(facecolor=colour("busy"), alpha=FAINT, label="under way, no row there")
    if any(len(cell.under_way) > 1 and not cell.passing for cell in occupied.cells.values()):
        yield Patch(facecolor="none", edgecolor=colour("busy"), hatch="//////", label="two under way")
    if document["picture"]["breaches"]:
        yield Patch(facecolor="none", edgecolor="black", linewidth=1.4, label="the rule is broken")
