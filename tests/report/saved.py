"""Small traces and statistics made up for reports, as if they had been read from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tilesim.report.document import SavedRun
from tilesim.sim.trace.trace import Trace

KINDS = ("busy", "stall:flag", "stall:port")


def random_trace(seed: int, tracks: tuple[str, ...], spans: int, start: int = 0, longest: int = 9) -> Trace:
    """So many spans on each track, one after the other with gaps between; some stalls have something that released
    them.
    """
    rng = np.random.default_rng(seed)
    count = len(tracks) * spans
    kind = rng.integers(0, len(KINDS), count)
    cycles = rng.integers(1, longest + 1, count)
    gaps = rng.integers(0, 4, count).reshape(len(tracks), spans)
    ends = np.cumsum(gaps + cycles.reshape(len(tracks), spans), axis=1).ravel()
    released_by = np.where(kind > 0, rng.integers(-1, count, count), -1)
    whats = tuple(f"work{k}" for k in range(20))
    return Trace(
        tracks=tracks,
        kinds=KINDS,
        whats=whats,
        layers=("first", "second"),
        track=np.repeat(np.arange(len(tracks)), spans).astype(np.int32),
        start_cycle=ends - cycles,
        cycles=cycles,
        kind=kind.astype(np.int32),
        what=rng.integers(0, len(whats), count).astype(np.int32),
        bytes=rng.integers(0, 5000, count),
        released_by=released_by.astype(np.int32),
        layer_of=rng.integers(-1, 2, len(whats)).astype(np.int32),
        start=start,
    )


def made_up(trace: Trace | None, **statistics: Any) -> SavedRun:
    """A run with that trace, and what reports need of the statistics."""
    cycles = int((trace.start_cycle + trace.cycles).max(initial=trace.start)) - trace.start if trace else 100
    document = {
        "schema": "tilesim.run/1",
        "machine": "tiled",
        "network": "made-up",
        "topology": "edge-2x2",
        "cycles": cycles,
        "load_cycles": 0,
        "clock_hz": 500_000_000,
        "latency_us": cycles / 500,
        "throughput_per_second": 1.0,
        "macs": 0,
        "mac_utilisation": 0.0,
        "inferences": 1,
        "requests": [],
        "bytes": {},
        "bound_by": "macs",
        "breakdown": {},
        "chip": {},
        "units": [],
        "links": [],
        "layers": [],
        "trace_sha256": trace.sha256 if trace else None,
        **statistics,
    }
    return SavedRun(Path("made-up"), document, trace)
