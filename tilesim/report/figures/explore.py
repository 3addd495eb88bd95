"""Every picture of a sweep into files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilesim.explore.row import Row
from tilesim.report.exploration.scaling import longest, series
from tilesim.report.figures.layout import PLAIN, FigureLayout
from tilesim.report.figures.save import save_each

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_exploration_figures(rows: Sequence[Row], folder: Path, layout: FigureLayout = PLAIN) -> list[Path]:
    """Write every picture that a sweep has numbers for into ``folder``, each as PNG and SVG: all of them or none.

    Of how networks scale: ``scaling`` and ``energy`` with all of them, ``losses-NETWORK`` and ``layers-NETWORK`` of
    each. Of the points of each network: ``map-NETWORK`` of two keys, and ``fronts-NETWORK``.

    Raises:
        InputError: matplotlib is not there, or the folder cannot be made or written.
    """
    return save_each(_figures(rows), folder, layout)


def _figures(rows: Sequence[Row]) -> Iterator[tuple[str, Figure]]:
    networks = sorted({row["network"] for row in rows})
    names = dict(zip(networks, _file_names(networks), strict=True))
    yield from _space(rows, names)
    yield from _scaling(rows, names)


def _space(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[tuple[str, Figure]]:
    from tilesim.report.figures import explore_space

    for network, name in names.items():
        if cells := explore_space.draw_maps(rows, network):
            yield f"map-{name}", cells
        if fronts := explore_space.draw_fronts(rows, network):
            yield f"fronts-{name}", fronts


def _scaling(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[tuple[str, Figure]]:
    from tilesim.report.figures import explore_series

    found = longest(series(rows))
    if not found:
        return
    yield "scaling", explore_series.draw_scaling(found)
    yield "energy", explore_series.draw_energy(rows, found)
    for one in found:
        yield f"losses-{names[one.network]}", explore_series.draw_losses(rows, one)
        yield f"layers-{names[one.network]}", explore_series.draw_layers(rows, one)


def _file_names(networks: Sequence[str]) -> Iterator[str]:
    """The networks' names as parts of those of files, all different."""
    seen: set[str] = set()
    for number, network in enumerate(networks, 1):
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", network)[:60].strip("-.") or str(number)
        name = f"{name}-{number}" if name.lower() in seen else name
        seen.add(name.lower())
        yield name
