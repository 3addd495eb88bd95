"""Runs with traces, for what is made from these."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tilesim
from tilesim.report.document import SavedRun, load_run
from tilesim.sim.trace.trace import Trace

NASTY = "</script><script>alert('ä\"\\')</script>\u202e\x00\x1b[31m\n" + 300 * "x" + "\udc80end"


def digits(topology: str = "edge-1x2") -> SavedRun:
    """A run of the digits, saved and loaded."""
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology(topology))
    run = tilesim.simulate(program, np.zeros((1, 1, 8, 8), np.float32), trace=True)
    with TemporaryDirectory() as folder:
        run.save(Path(folder))
        return load_run(Path(folder))


def small(label: str = "send") -> tuple[dict[str, Any], Trace]:
    """A run by hand: tile 0 sends, tile 1 waits for it twice. Its instruction bears ``label``, as does its layer."""
    units = ["chip.tile0.mac_array", "chip.tile1.tensor", "chip.host.infeed"]
    statistics = {
        "machine": "tiled",
        "network": label,
        "topology": "by hand",
        "cycles": 20,
        "load_cycles": 8,
        "clock_hz": 500_000_000,
        "inferences": 1,
        "macs": 300,
        "mac_utilisation": 0.25,
        "bytes": {"ring": {"entered": 64, "carried": 64}},
        "units": [{"track": track} for track in units],
        "links": [{"track": "chip.ring.link0"}],
        "layers": [{"name": label, "start_cycle": 2, "cycles": 18, "macs": 300, "mac_busy_cycles": 5}],
    }
    trace = Trace(
        tracks=("chip.ring.link0", "chip.tile0.mac_array", "chip.tile1.tensor"),
        kinds=("busy", "stall:flag"),
        whats=("", label),
        layers=(label,),
        track=np.array([0, 1, 2, 2, 2], np.int32),
        start_cycle=np.array([9, 12, 0, 11, 20]),
        cycles=np.array([4, 5, 10, 9, 7]),
        kind=np.array([0, 0, 1, 1, 0], np.int32),
        what=np.array([1, 1, 0, 1, 1], np.int32),
        bytes=np.array([64, 0, 0, 0, 16]),
        released_by=np.array([-1, -1, 0, 1, -1], np.int32),
        layer_of=np.array([-1, 0], np.int32),
        start=10,
    )
    return statistics, trace
