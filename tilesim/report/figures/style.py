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
from tilesim.report.figures.layout import PLAIN
from tilesim.report.words import ending

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

Picture = NDArray[np.float64]

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
    "pdf.fonttype": 42,  # whole fonts: what publishers ask for
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
    rows, _, bins = shares.shape
    picture = np.empty((rows, height, bins, 3))
    picture[:] = rgb([background])
    tops = np.cumsum(shares, axis=1) * height
    pixels = np.arange(height)[::-1, None]
    for part, hue in enumerate(rgb(colours) - rgb([background])):
        top, share = tops[:, part, None], shares[:, part, None] * height
        some = shares[:, part].any(axis=1)  # rows that have none of it need no look at their pixels
        covered = np.clip(np.minimum(top, pixels + 1) - np.maximum(top - share, pixels), 0, None)[some]
        picture[some] += covered[..., None] * hue
    return picture.clip(0, 1).reshape(-1, bins, 3)


def show_shares(axes: Any, picture: Picture, edges: Sequence[float] | NDArray[Any], rows: int) -> None:
    """Draw a picture of so many ``rows``, each of its columns from one of the ``edges`` to the next."""
    from matplotlib.image import PcolorImage  # which takes a quarter of the time of imshow

    lines = np.linspace(0, rows, len(picture) + 1)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(rows, 0))
    octets = np.rint(picture * 255).astype(np.uint8)
    axes.add_image(PcolorImage(axes, edges, lines, octets, in_layout=False))


def label(name: str, width: int = 34) -> str:
    """A name from a model, as short as a figure needs it."""
    return ending(printable(name), width)


def cycles_axis(axes: Any, cycles: int, clock_hz: int) -> None:
    """An x-axis in cycles of the run, with the time that it takes."""
    axes.set_xlim(0, cycles)
    axes.locator_params(axis="x", nbins=4 if is_narrow() else 8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
    axes.set_xlabel(f"cycle of the run (1,000 cycles = {1e9 / clock_hz:,.3g} µs)")


def stack_bars(axes: Any, parts: Iterable[tuple[str, str, Sequence[float]]], rows: int, height: float) -> list[float]:
    """Draw so many ``rows`` of parts side by side, each part its words for a key, its colour, and its width in every
    row; where the rows end.
    """
    ends = [0.0] * rows
    for words, hue, widths in parts:
        bars(axes, widths, hue, height, ends, words)
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    return ends


def bars(
    axes: Any, widths: Sequence[float], hue: str, height: float, lefts: Sequence[float] = (), words: str = ""
) -> None:
    """A bar in each row, all of them one thing to draw."""
    from matplotlib.collections import PolyCollection

    x0 = np.array(lefts or [0.0] * len(widths))
    x1, y = x0 + widths, np.arange(len(widths))
    below, above = y - height / 2, y + height / 2
    corners = np.stack(
        [np.stack(corner, axis=-1) for corner in ((x0, below), (x1, below), (x1, above), (x0, above))], axis=1
    )
    axes.add_collection(PolyCollection([*corners], facecolor=hue, linewidth=0, label=words or None))
    axes.autoscale_view()


def name_rows(axes: Any, names: Sequence[str], middle: float = 0.0) -> None:
    """Write a name beside each row, whose ``middle`` is so far behind its number."""
    axes.set_yticks([row + middle for row in range(len(names))], names)
    axes.tick_params(axis="y", length=0)


def width_inches() -> float:
    """How wide a figure is, as :func:`tilesim.report.figures.save.save_each` was told."""
    import matplotlib as mpl

    return float(mpl.rcParams["figure.figsize"][0])


def is_narrow() -> bool:
    """Whether a figure is for one column."""
    return width_inches() < PLAIN.width_inches


def key(figure: Figure, handles: Sequence[Artist] | None = None, most: int = 5) -> None:
    """Say above a figure what its colours mean: ``handles``, or whatever was drawn with a label, ``most`` in a line."""
    place: Any = "outside upper center"
    columns = -(-most // 2) if is_narrow() else most
    figure.legend(handles=handles, loc=place, ncols=columns, handlelength=1.2, columnspacing=1.2)
