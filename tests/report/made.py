"""Saved runs made up of a few numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tilesim.report.document import SavedRun


def saved(folder: str = "a", arrays: int = 1, **changes: Any) -> SavedRun:
    """A run of 100 cycles on so many MAC arrays: two layers, ``l0`` (60 cycles each) and ``l1`` (30), and no work.

    ``changes`` replace what its document says; None: it says nothing of it.
    """
    layers = [layer("l0", arrays, macs=50, port=10), layer("l1", arrays, macs=20, ring=10)]
    breakdown = {"macs": 70 * arrays, "port": 10 * arrays, "ring": 10 * arrays, "no work": 10 * arrays}
    statistics = {
        "network": "net",
        "machine": "tiled",
        "topology": f"chip-{arrays}",
        "cycles": 100,
        "load_cycles": 7,
        "clock_hz": 1_000_000,
        "inferences": 1,
        "macs": 500,
        "mac_utilisation": 0.5,
        "bound_by": "macs",
        "breakdown": breakdown,
        "bytes": {"ring": {"entered": 8, "carried": 16}},
        "streamed_bytes": 0,
        "units": [{"track": f"chip.tile{k}.mac_array"} for k in range(arrays)],
        "layers": layers,
        "chip": {"name": f"chip-{arrays}", "grid": {"rows": arrays, "columns": 1}, "deep": {"flag": True}},
        "partition": {"asked": "spatial"},
        "energy": energy(1000.0, count=len(changes.get("layers", layers))),
    }
    kept = {key: value for key, value in {**statistics, **changes}.items() if value is not None}
    return SavedRun(Path(folder), kept, None)


def layer(name: str, arrays: int = 1, kind: str = "convolution", **breakdown: int) -> dict[str, Any]:
    """A layer for which each of the MAC arrays spent the cycles in ``breakdown``."""
    by_cause = {cause.replace("_", " "): cycles * arrays for cause, cycles in breakdown.items()}
    return {
        "network": "net",
        "name": name,
        "kind": kind,
        "macs": 250,
        "tiles": arrays,
        "cycles": sum(breakdown.values()),
        "bound_by": "macs",
        "parameters": "copy",
        "breakdown": by_cause,
    }


def energy(total: float, per_layer: float = 0.0, count: int = 2, **table: Any) -> dict[str, Any]:
    """The energy of a run of so many layers that reads wide memory and does nothing else."""
    actions = {"wide_read": {"count": 1, "bytes": 256, "pj": total}}
    layers = [{"actions": {}, "total_pj": per_layer}] * count
    outside = {"actions": {}, "total_pj": 0.0}
    return {
        "table": table, "actions": actions, "units": [], "layers": layers, "outside_layers": outside, "total_pj": total,
    }  # fmt: skip
