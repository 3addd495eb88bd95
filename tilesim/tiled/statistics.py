"""The statistics document of a run of the tiled chip."""

from __future__ import annotations

from typing import Any

from tilesim.run import SCHEMA
from tilesim.sim.recorder import Recorder
from tilesim.sim.unit import BUSY, Unit
from tilesim.tiled import bounds, traffic
from tilesim.tiled.isa.program import Program
from tilesim.tiled.units.chip import Chip
from tilesim.units import cycles_to_us


def document(program: Program, chip: Chip, load_cycles: int, run: range, recorder: Recorder | None) -> dict[str, Any]:
    """Everything that ``run.json`` holds of a run that took the cycles ``run``.

    ``units`` and ``links`` are the accounts of everything that keeps one: busy, stalled for a reason and idle cycles
    make up the run. ``links`` are the links of the ring and of the mesh and the stops of the instruction bus, with the
    bytes of all rows, words or instructions that they carried, headers not counted. ``bytes`` are those of
    :mod:`~tilesim.tiled.traffic`, ``breakdown`` and ``bound_by`` those of :mod:`~tilesim.tiled.bounds`.
    """
    topology, cycles = program.topology, len(run)
    macs = sum(layer.macs for layer in program.layers)
    peak = topology.tiles * topology.macs_per_cycle * cycles
    buses = traffic.buses(chip)
    links = [unit for name in ("ring", "mesh", "instruction_bus") for unit in buses[name].links]
    carriers = {unit.track for unit in links}
    breakdowns = bounds.breakdowns(program, chip)
    whole = bounds.whole(breakdowns, chip)
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
        "bytes": traffic.total(buses),
        "bound_by": bounds.bound_by(whole),
        "breakdown": whole,
        "units": [_unit(unit) for unit in chip.units if unit.track not in carriers],
        "layers": _layers(program, chip, run.start, breakdowns, traffic.by_layer(program, buses)),
        "links": [_link(unit) for unit in links],
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


def _layers(
    program: Program, chip: Chip, start: int, breakdowns: list[dict[str, int]], moved: list[traffic.Traffic]
) -> list[dict[str, Any]]:
    return [
        {
            **_layer(program, chip, k, start),
            "mac_busy_cycles": breakdown.get("macs", 0),
            "bytes": bytes_,
            "bound_by": bounds.layer_bound_by(breakdown),
            "breakdown": breakdown,
        }
        for k, (breakdown, bytes_) in enumerate(zip(breakdowns, moved, strict=True))
    ]


def _layer(program: Program, chip: Chip, k: int, start: int) -> dict[str, Any]:
    """What layer ``k`` is, and how long its tiles took from the first one's first step to the last one's last word.

    Tiles go on to the next layer as soon as they can, so that layers overlap: ``start_cycle`` tells.
    """
    layer = program.layers[k]
    shares = [tile.tensor.shares[k] for tile in chip.tiles if k in tile.tensor.shares]
    first = min((share.start for share in shares), default=start)
    cycles = max((share.end for share in shares), default=first) - first
    peak = len(shares) * program.topology.macs_per_cycle * cycles
    return {
        "name": layer.name,
        "kind": layer.kind,
        "macs": layer.macs,
        "tiles": len(shares),
        "start_cycle": first - start,
        "cycles": cycles,
        "mac_utilisation": layer.macs / peak if peak else 0.0,
    }
