"""What the figures have in common: colours, sizes, and pictures of shares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilesim.printable import printable
from tilesim.report.words import ending

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

Picture = NDArray[np.float64]

WIDTH_INCHES = 7.16
"""Both columns of a paper of two."""
TALLEST_INCHES = 9.2
SETTINGS: Mapping[Any, Any] = {
    "axes.edgecolor": "#68717c",
    "axes.linewidth": 0.5,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 8,
    "axes.labelsize": 7,
    "figure.constrained_layout.use": True,
    "figure.dpi": 300,
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "patch.linewidth": 0,
    "svg.fonttype": "none",
    "svg.hashsalt": "tilesim",
    "text.parse_math": False,  # a dollar sign in a layer's name is a dollar sign
    "xtick.labelsize": 6.5,
    "xtick.major.width": 0.5,
    "ytick.labelsize": 6.5,
    "ytick.major.width": 0.5,
}
"""Matplotlib's settings for all figures."""


def colour(name: str) -> str:
    """The colour that the page has for a meaning: ``busy``, ``stall:port``, ``cause:output write``, ``master:0``."""
    return _colours().get(re.sub(r"[: _]", "-", name), "#9aa3ad")


@cache
def _colours() -> dict[str, str]:
    """Those for a white background, which stand first in the page's style sheet; some are called as another is."""
    sheet = (files("tilesim.report.page") / "base.css").read_text(encoding="utf-8")
    said: dict[str, str] = {}
    for name, value in re.findall(r"--([\w-]+):\s*(#[0-9a-fA-F]{6}|var\(--[\w-]+\))\s*;", sheet):
        said.setdefault(name, value)
    return {name: said[value[6:-1]] if value.startswith("var") else value for name, value in said.items()}


def rgb(colours: Sequence[str]) -> Picture:
    """``#rrggbb`` as (colour, red green blue) from 0 to 1."""
    numbers = [[int(text[k : k + 2], 16) for k in (1, 3, 5)] for text in colours]
    return np.array(numbers, np.float64).reshape(-1, 3) / 255


def stacked_shares(shares: Picture, colours: Sequence[str], background: str, height: int) -> Picture:
    """A picture (row * ``height``, bin, rgb) of (row, part, bin) shares: each part as high, from below, as its share;
    pixels that parts share are mixed.
    """
    tops = np.cumsum(shares, axis=1) * height
    pixels = np.arange(height)[::-1, None, None, None]
    covered = np.clip(np.minimum(tops, pixels + 1) - np.maximum(tops - shares * height, pixels), 0, None)
    parts = np.einsum("prkb,kc->rpbc", covered, rgb(colours))
    rest = 1 - covered.sum(axis=2).clip(0, 1).transpose(1, 0, 2)
    picture: Picture = parts + rest[..., None] * rgb([background])
    return picture.clip(0, 1).reshape(-1, shares.shape[2], 3)


def label(name: str, width: int = 34) -> str:
    """A name from a model, as short as a figure needs it."""
    return ending(printable(name), width)


def cycles_axis(axes: Any, cycles: int, clock_hz: int) -> None:
    """An x-axis in cycles of the run, with the time that it takes."""
    axes.set_xlim(0, cycles)
    axes.xaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
    axes.set_xlabel(f"cycle of the run (1,000 cycles = {1e9 / clock_hz:,.3g} µs)")


def stack_bars(axes: Any, parts: Iterable[tuple[str, str, Sequence[float]]], rows: int, height: float) -> list[float]:
    """Draw so many ``rows`` of parts side by side, each part its words for a key, its colour, and its width in every
    row; where the rows end.
    """
    ends = [0.0] * rows
    for words, hue, widths in parts:
        axes.barh(range(rows), widths, left=ends, height=height, color=hue, label=words)
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    return ends


def name_rows(axes: Any, names: Sequence[str], middle: float = 0.0) -> None:
    """Write a name beside each row, whose ``middle`` is so far behind its number."""
    axes.set_yticks([row + middle for row in range(len(names))], names)
    axes.tick_params(axis="y", length=0)


def key(figure: Figure, handles: Sequence[Artist] | None = None) -> None:
    """Say above a figure what its colours mean: ``handles``, or whatever was drawn with a label."""
    place: Any = "outside upper center"
    figure.legend(handles=handles, loc=place, ncols=5, handlelength=1, columnspacing=1.2)
