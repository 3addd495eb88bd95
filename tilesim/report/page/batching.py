"""Batches of inferences: what lies in the unified buffer over time, and which layer runs when."""

from __future__ import annotations

import numpy as np

from tilesim.report.analysis.batching import DEFINITION, footprint, lanes, schedule_words
from tilesim.report.document import SavedRun
from tilesim.report.page.build import Section
from tilesim.units import format_bytes

SCRIPTS = ("batching_plot.js", "batching.js")
COLUMNS = ("layer", "first", "count", "start_cycle", "end_cycle", "buffer_bytes")


def batching(run: SavedRun) -> Section | None:
    """The section of the batches of a run that has some."""
    statistics = run.statistics
    found = statistics.get("batching")
    if not found:
        return None
    data = {
        "cycles": statistics["cycles"],
        "figures": [
            {"name": "schedule", "value": schedule_words(found["schedule"])},
            {"name": "batches", "value": f"{len(found['steps']):,}"},
            {"name": "weight sets", "value": f"{found['weight_set_loads']:,}, {format_bytes(found['weight_bytes'])}"},
            {"name": "largest footprint", "value": format_bytes(found["peak_buffer_bytes"])},
            {"name": "latency of the first", "value": f"{found['latency_first_cycles']:,} cycles"},
            {"name": "latency of the last", "value": f"{found['latency_last_cycles']:,} cycles"},
        ],
        "lanes": [lane._asdict() for lane in lanes(statistics)],
        "definition": DEFINITION,
    }
    points = np.array(footprint(found["steps"]), np.int64).reshape(-1, 2)
    columns = {name: np.array([step[name] for step in found["steps"]], np.int64) for name in COLUMNS}
    return Section("batching", "Batches", data, {**columns, "cycle": points[:, 0], "bytes": points[:, 1]}, SCRIPTS)
