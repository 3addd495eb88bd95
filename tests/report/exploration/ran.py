"""Rows of runs that really ran: the shipped workloads on shipped chips."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

import tilesim
from tests.report.exploration.rows import row
from tilesim.explore.point import Point, PointOptions
from tilesim.explore.row import MeasuredLayer, Measures, Row
from tilesim.machines.topology import keys
from tilesim.run import Run

CHIPS = ("edge-1x1", "edge-1x2", "edge-2x2", "edge-2x4", "edge-4x4", "edge-8x8", "fig2-5x2", "pocket-2x1", "ring-8")
"""The tiled chips."""


@cache
def ran(workload: str, chip: str) -> Row:
    """The row of a workload on a chip."""
    topology = tilesim.load_topology(chip)
    try:
        run = tilesim.simulate(tilesim.compile(tilesim.load_network(workload), topology))
    except tilesim.InputError as error:
        return {**row(workload, status="refused"), "reason": str(error)}
    return {
        **row(workload, status="refused"),
        "topology": chip,
        "chip": {key.key: key.value for key in keys(topology) if key.key not in ("machine", "name", "description")},
        "options": asdict(PointOptions()),
        "command": Point(workload, chip).command,
        "status": "ran",
        "reason": "",
        "measures": _measures(run, topology.arrays),
    }


def _measures(run: Run, tiles: int) -> Measures:
    statistics = run.statistics
    layers = statistics["layers"]
    energy = statistics["energy"]
    assert energy is not None
    return {
        "tiles": tiles,
        "macs": statistics["macs"],
        "cycles": statistics["cycles"],
        "load_cycles": statistics["load_cycles"],
        "latency_us": statistics["latency_us"],
        "throughput_per_second": statistics["throughput_per_second"],
        "energy_pj": energy["total_pj"],
        "mac_utilisation": statistics["mac_utilisation"],
        "bound_by": statistics["bound_by"],
        "breakdown": {cause: cycles / tiles for cause, cycles in statistics["breakdown"].items()},
        "bytes": {bus: moved["carried"] for bus, moved in statistics["bytes"].items()},
        "peak_bytes": {},
        "outputs_sha256": "",
        "layers": [
            MeasuredLayer(
                name=layer["name"],
                kind=layer["kind"],
                tiles=layer["tiles"],
                parameters=layer["parameters"],
                breakdown={cause: cycles / tiles for cause, cycles in layer["breakdown"].items()},
                energy_pj=energy["layers"][k]["total_pj"],
            )
            for k, layer in enumerate(layers)
        ],
    }
