"""The sections of a run's page, in the order in which they stand there."""

from __future__ import annotations

from collections.abc import Callable

from tilesim.errors import InputError
from tilesim.report.document import RUN_FILE, SavedRun
from tilesim.report.page.batching import batches
from tilesim.report.page.build import Section, page
from tilesim.report.page.contention import contention
from tilesim.report.page.layers import layer_table
from tilesim.report.page.overview import overview
from tilesim.report.page.roofline import roofline
from tilesim.report.page.stall_free import stall_free
from tilesim.report.page.timeline import timeline

SECTIONS: tuple[Callable[[SavedRun], Section | None], ...] = (
    overview, timeline, batches, contention, layer_table, roofline, stall_free,
)  # fmt: skip
"""Each makes a section out of a run, if it has anything to say of it."""


def sections(run: SavedRun) -> list[Section]:
    """All that have anything to say of the run."""
    made = [section(run) for section in SECTIONS]
    return [section for section in made if section is not None]


def report(run: SavedRun) -> str:
    """The whole page of a run, as HTML.

    Raises:
        InputError: statistics that a section can make nothing of.
    """
    statistics = run.statistics
    title = f"{statistics['network']} on {statistics['topology']}"
    subtitle = f"{statistics['cycles']:,} cycles at {statistics['clock_hz'] / 1e6:,g} MHz, as tilesim simulated them"
    try:
        return page(title, subtitle, sections(run))
    except InputError as error:
        raise InputError(f"{run.folder / RUN_FILE}: {fault}" for fault in error.faults) from None
