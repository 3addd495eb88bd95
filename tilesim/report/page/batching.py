"""Batches of inferences: what lies in the unified buffer over time, and which layer runs when."""

from __future__ import annotations

import numpy as np

from tilesim.report.analysis.batching import DEFINITION, footprint, lanes, schedule_words
from tilesim.report.document import SavedRun
from tilesim.report.page.build import Section
from tilesim.statistics import BatchStep
from tilesim.units import format_bytes

SCRIPTS = ("batching_plot.js", "batching.js")
COLUMNS = ("layer", "first", "count", "start_cycle", "end_cycle", "buffer_bytes")


def batches(run: SavedRun) -> Section | None:
    """The section of the batches of a run that has some."""
    statistics = run.statistics
    batching = statistics.get("batching")
    if not batching:
        return None
    data = {
        "cycles": statistics["cycles"],
        "figures": [
            {"name": "schedule", "value": schedule_words(batching["schedule"])},
            {"name": "batches", "value": f"{len(batching['steps']):,}"},
            {
                "name": "weight sets",
                "value": f"{batching['weight_set_loads']:,}, {format_bytes(batching['weight_bytes'])}",
            },
            {"name": "largest footprint", "value": format_bytes(batching["peak_buffer_bytes"])},
            {"name": "latency of the first", "value": f"{batching['latency_first_cycles']:,} cycles"},
            {"name": "latency of the last", "value": f"{batching['latency_last_cycles']:,} cycles"},
        ],
        "lanes": [lane._asdict() for lane in lanes(statistics["layers"], batching["steps"])],
        "definition": DEFINITION,
    }
    points = np.array(footprint(batching["steps"]), np.int64).reshape(-1, 2)
    steps = np.array([_numbers(step) for step in batching["steps"]], np.int64).reshape(-1, len(COLUMNS))
    columns = {**dict(zip(COLUMNS, steps.T, strict=True)), "cycle": points[:, 0], "bytes": points[:, 1]}
    return Section("batching", "Batches", data, columns, SCRIPTS)


def _numbers(step: BatchStep) -> tuple[int, ...]:
    return (
        step["layer"], step["first"], step["count"], step["start_cycle"], step["end_cycle"], step["buffer_bytes"],
    )  # fmt: skip
