"""The statistics document of a run of the tiled chip."""

from __future__ import annotations

from typing import Any

from tilesim.run import SCHEMA
from tilesim.sim.recorder import Recorder
from tilesim.sim.unit import BUSY, Unit
from tilesim.tiled.isa.program import Program
from tilesim.tiled.units.chip import Chip
from tilesim.units import cycles_to_us


def document(program: Program, chip: Chip, load_cycles: int, cycles: int, recorder: Recorder | None) -> dict[str, Any]:
    """Everything that ``run.json`` holds."""
    topology = program.topology
    macs = sum(layer.macs for layer in program.layers)
    peak = topology.tiles * topology.macs_per_cycle * cycles
    return {
        "schema": SCHEMA,
        "machine": topology.machine,
        "network": program.name,
        "topology": topology.name,
        "cycles": cycles,
        "load_cycles": load_cycles,
        "clock_hz": topology.clock_hz,
        "latency_us": cycles_to_us(cycles, topology.clock_hz),
        "macs": macs,
        "mac_utilisation": macs / peak if peak else 0.0,
        "units": [_unit(unit) for unit in chip.units if ".link" not in unit.track],
        "layers": _layers(program, chip),
        "links": [_link(unit) for unit in chip.units if ".link" in unit.track],
        "findings": [],
        "inferences": 1,
        "trace_sha256": recorder.trace().sha256 if recorder else None,
        "chip": topology.model_dump(mode="json"),
    }


def _unit(unit: Unit) -> dict[str, Any]:
    stalls = {kind.removeprefix("stall:"): n for kind, n in sorted(unit.cycles.items()) if kind.startswith("stall:")}
    return {
        "track": unit.track,
        "busy_cycles": unit.cycles.get(BUSY, 0),
        "stall_cycles": stalls,
        "idle_cycles": unit.cycles.get("idle", 0),
    }


def _link(unit: Unit) -> dict[str, Any]:
    return {**_unit(unit), "bytes": unit.bytes}


def _layers(program: Program, chip: Chip) -> list[dict[str, Any]]:
    return [_layer(program, chip, k) for k in range(len(program.layers))]


def _layer(program: Program, chip: Chip, k: int) -> dict[str, Any]:
    layer, topology = program.layers[k], program.topology
    spans = [tile.tensor.spans[k] for tile in chip.tiles if k in tile.tensor.spans]
    cycles = max(end for _, end in spans) - min(start for start, _ in spans) if spans else 0
    peak = len(spans) * topology.macs_per_cycle * cycles
    return {
        "name": layer.name,
        "kind": layer.kind,
        "macs": layer.macs,
        "tiles": len(spans),
        "cycles": cycles,
        "mac_busy_cycles": sum(tile.tensor.issue_cycles.get(k, 0) for tile in chip.tiles),
        "mac_utilisation": layer.macs / peak if peak else 0.0,
    }
