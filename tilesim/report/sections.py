"""The sections of a run's page, in the order in which they stand there."""

from __future__ import annotations

from tilesim.report.document import SavedRun
from tilesim.report.page.build import page
from tilesim.report.page.contention import contention
from tilesim.report.page.layers import layer_table
from tilesim.report.page.overview import overview
from tilesim.report.page.roofline import roofline
from tilesim.report.page.timeline import timeline

SECTIONS = (overview, timeline, contention, layer_table, roofline)
"""Each makes a section out of a run."""


def report(run: SavedRun) -> str:
    """The whole page of a run, as HTML."""
    statistics = run.statistics
    title = f"{statistics['network']} on {statistics['topology']}"
    subtitle = f"{statistics['cycles']:,} cycles at {statistics['clock_hz'] / 1e6:,g} MHz, as tilesim simulated them"
    return page(title, subtitle, [section(run) for section in SECTIONS])
