"""A systolic run's layers beside SCALE-Sim's count."""

from __future__ import annotations

from dataclasses import asdict

from tilesim.report.analysis.stall_free import DEFINITIONS, NOTE, rows
from tilesim.report.document import SavedRun
from tilesim.report.page.build import Section


def stall_free(run: SavedRun) -> Section | None:
    """The section of the table; none where no dense layer ran on a systolic array."""
    compared = rows(run.statistics)
    if not compared:
        return None
    listed = [{**asdict(row), "ours": row.ours, "stall_free": row.stall_free} for row in compared]
    return Section(
        "stall_free", "Beside a stall-free count", {"rows": listed, "definitions": DEFINITIONS, "note": NOTE}
    )
