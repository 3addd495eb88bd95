"""Link by link, how much of the time something is carried, by whom, and how much of it something waits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tilesim.report.analysis.contention import Occupancy, occupancy
from tilesim.report.figures.style import (
    TALLEST_INCHES,
    Picture,
    colour,
    cycles_axis,
    is_narrow,
    key,
    rgb,
    show_shares,
    stacked_shares,
    width_inches,
)
from tilesim.report.tracks import master_words, track_words
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics

PIXELS = 12
ROW_INCHES = 0.11
SHADING = 0.4
STEPS = (0.01, 0.1, 0.25, 0.5, 1.0)
"""Occupancies in the legend."""


def draw(statistics: RunStatistics, trace: Trace) -> Figure | None:
    """Left (in one column: above) what links carry, in the colour of the master that sent it, right how long it waits
    at them; None where nobody says which tracks are links.
    """
    occupied = occupancy(statistics, trace)
    rows = len(occupied.links)
    if not rows:
        return None
    below = is_narrow()
    wanted = 1.1 + ROW_INCHES * rows * (1 + below)
    figure = Figure(figsize=(width_inches(), min(TALLEST_INCHES, wanted)))
    carried, waiting = figure.subplots(2, 1, sharex=True) if below else figure.subplots(1, 2, sharey=True)
    for axes, picture, title in (
        (carried, _carried(occupied), "carrying"),
        (waiting, _waiting(occupied), "waiting"),
    ):
        show_shares(axes, picture, occupied.edges, rows)
        axes.set_title(title)
        cycles_axis(axes, statistics["cycles"], statistics["clock_hz"])
        axes.set_xlabel("cycle of the run")
        axes.locator_params(axis="x", nbins=5)
    for axes in (carried, waiting) if below else (carried,):
        _name_links(axes, occupied, min(6.0, 66 * ROW_INCHES * figure.get_figheight() / wanted))
    for axes in (carried, waiting):
        axes.hlines(_borders(occupied), 0, statistics["cycles"], "white", linewidth=1.5)
        axes.tick_params(axis="y", length=0)
    key(figure, _key(occupied), 7)
    return figure


def shade(share: Picture) -> Picture:
    """How strong the colour of a share is: not in proportion, so that small ones are seen."""
    strength: Picture = share**SHADING
    return strength


def _carried(occupied: Occupancy) -> Picture:
    """Cells split among the masters, as strong as the link is occupied."""
    cycles = np.diff(occupied.edges)
    alone = occupied.carried - occupied.by_master.sum(axis=0)
    parts = np.concatenate([occupied.by_master, alone[None]]).transpose(1, 0, 2)
    split = parts / np.maximum(1, occupied.carried)[:, None, :]
    hues = [*(colour(hue) for hue in occupied.hues), colour("busy")]
    return _faded(stacked_shares(split, hues, colour("idle"), PIXELS), occupied.carried / cycles)


def _waiting(occupied: Occupancy) -> Picture:
    share = occupied.waiting / np.diff(occupied.edges)
    full = np.broadcast_to(rgb([colour("stall:credit")]), (len(share) * PIXELS, share.shape[1], 3))
    return _faded(full, share)


def _faded(picture: Picture, share: Picture) -> Picture:
    strength = np.repeat(shade(share), PIXELS, axis=0)[..., None]
    result: Picture = picture * strength + rgb([colour("idle")]) * (1 - strength)
    return result


def _borders(occupied: Occupancy) -> list[int]:
    return [k for k in range(1, len(occupied.buses)) if occupied.buses[k] != occupied.buses[k - 1]]


def _name_links(axes: Any, occupied: Occupancy, points: float) -> None:
    """Each link if there is room for that, else the buses."""
    if points >= 4:
        axes.set_yticks(
            np.arange(len(occupied.links)) + 0.5, [track_words(link) for link in occupied.links], fontsize=points
        )
        return
    borders = [0, *_borders(occupied), len(occupied.links)]
    axes.set_yticks([(a + b) / 2 for a, b in pairwise(borders)], [occupied.buses[a] for a in borders[:-1]])


def _key(occupied: Occupancy) -> list[Any]:
    steps = [Patch(color=_tint(colour("busy"), step), label=f"{step:.0%} occupied") for step in STEPS]
    masters = [
        Patch(color=colour(hue), label=master_words(master))
        for hue, master in zip(occupied.hues, occupied.masters, strict=True)
    ]
    return [*masters, *steps, Patch(color=colour("stall:credit"), label="waiting")]


def _tint(hue: str, share: float) -> Any:
    picture = _faded(rgb([hue])[None], np.array([[share]]))
    return tuple(picture[0, 0].tolist())
