"""The page of a sweep: what its points say together."""

from __future__ import annotations

from collections.abc import Sequence

from tilesim.explore.row import Row
from tilesim.printable import counted, printable
from tilesim.report.exploration.keys import in_order
from tilesim.report.exploration.points import distinct
from tilesim.report.page.build import PageSection, page
from tilesim.report.page.explore_series import series_sections
from tilesim.report.page.explore_space import points_section, space_sections


def exploration_page(rows: Sequence[Row], title: str) -> str:
    """The whole page of a sweep, as HTML; its points are numbered in the order of their keys."""
    ordered = in_order(rows)
    networks = ", ".join(map(printable, distinct(row["network"] for row in ordered)))
    subtitle = f"{counted(len(rows), 'point')} of {networks or 'no network'}, as tilesim simulated them"
    return page(title, subtitle, sections(ordered))


def sections(rows: Sequence[Row]) -> list[PageSection]:
    """The sweep in figures, and what its points say. The first holds what all share: scripts of others ask for it with
    ``tilesim.given("explore")``.
    """
    return [points_section(rows), *series_sections(rows), *space_sections(rows)]
