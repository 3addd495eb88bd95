"""The statistics document of a run of the systolic machine."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim import energy
from tilesim.machines import traffic
from tilesim.sim.bottleneck import Bottleneck, whole
from tilesim.sim.core.unit import BUSY, Unit
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import (
    SCHEMA,
    BytesByBus,
    LayerStatistics,
    MatrixShape,
    RequestStatistics,
    RunStatistics,
    UnitStatistics,
)
from tilesim.systolic.isa.model.instructions import ReadHostMemory, WriteHostMemory
from tilesim.systolic.isa.model.program import Layer, Program
from tilesim.systolic.run import batching_document
from tilesim.systolic.run.actions import tallies
from tilesim.systolic.run.bottleneck import UNUSED, USEFUL, bottlenecks_of
from tilesim.systolic.run.traffic import buses as buses_of
from tilesim.systolic.units.chip import Chip
from tilesim.units import cycles_to_us


def document(program: Program, chip: Chip, load_cycles: int, run: range, trace: Trace | None) -> RunStatistics:
    """Everything that ``run.json`` holds of a run that took the cycles ``run``.

    ``units`` and ``links`` are the accounts of everything that keeps one: busy, stalled for a reason and idle cycles
    make up the run. ``bytes`` are those of :mod:`~tilesim.machines.traffic`, ``energy`` is that of
    :mod:`tilesim.energy`, ``breakdown`` is that of :mod:`~tilesim.systolic.run.bottleneck`, and ``bound_by`` its
    largest cause. ``mac_utilisation`` is the network's MACs by those that the array could do in these cycles.
    ``streamed_bytes`` are what weight memory sent.

    ``macs``, a layer's figures and ``cycles`` are of all ``inferences`` together. ``requests`` are the inferences:
    ``start_cycle`` is when its first byte leaves the host (of the first, when the run begins), ``end_cycle`` when its
    last one is back. ``latency_us`` is the first one's latency, ``interval_cycles`` what each takes of the whole run,
    for those of a batch end almost together. ``batching`` is that of :mod:`~tilesim.systolic.run.batching_document`.
    """
    topology, cycles = program.topology, len(run)
    requests = list(_requests(program, chip, run))
    interval = cycles / program.inferences if program.inferences > 1 else None
    macs = sum(layer.macs for layer in program.layers) * program.inferences
    bottlenecks = bottlenecks_of(program, chip)
    total = whole(bottlenecks.values())
    return {
        "schema": SCHEMA,
        "machine": topology.machine,
        "network": program.name,
        "topology": topology.name,
        "cycles": cycles,
        "load_cycles": load_cycles,
        "clock_hz": topology.clock_hz,
        "latency_us": cycles_to_us(requests[0]["latency_cycles"], topology.clock_hz),
        "macs": macs,
        "mac_utilisation": _utilisation(macs, cycles, program),
        "streamed_bytes": chip.weight_memory.bytes,
        "bytes": traffic.total(buses_of(chip)),
        "energy": energy.document(tallies(program, chip), len(program.layers)),
        "bound_by": total.bound_by(),
        "breakdown": total.breakdown,
        "units": [_unit(unit) for unit in chip.units],
        "layers": _layers(program, chip, run.start, bottlenecks),
        "links": [{**_unit(unit), "bytes": unit.bytes} for unit in chip.links],
        "partition": None,
        "findings": [],
        "inferences": program.inferences,
        "requests": requests,
        "interval_cycles": interval,
        "throughput_per_second": topology.clock_hz * program.inferences / max(1, cycles),
        "batching": batching_document.document(program, chip, run.start, requests),
        "trace_sha256": trace.sha256 if trace else None,
        "chip": topology.model_dump(mode="json"),
    }


def _requests(program: Program, chip: Chip, run: range) -> Iterator[RequestStatistics]:
    begun, retired = chip.retirement.begun, chip.retirement.retired
    starts: dict[int, int] = {0: run.start}
    ends: dict[int, int] = {}
    for op in program.run:
        if isinstance(op, ReadHostMemory) and op.source == "input":
            starts.setdefault(program.inputs[op.tensor].inference, begun[op.label])
        elif isinstance(op, WriteHostMemory):
            k = program.outputs[op.tensor].inference
            ends[k] = max(ends.get(k, 0), retired[op.label])
    for k in range(program.inferences):
        start, end = starts.get(k, run.start), ends.get(k, run.stop)
        yield {
            "network": program.name,
            "loaded": not k and bool(program.load),
            "start_cycle": start - run.start,
            "end_cycle": end - run.start,
            "latency_cycles": end - start,
            "outputs": [place for place, output in enumerate(program.outputs) if output.inference == k],
        }


def _utilisation(macs: int, cycles: int, program: Program) -> float:
    possible = program.topology.macs_per_cycle * cycles
    return macs / possible if possible else 0.0


def _unit(unit: Unit) -> UnitStatistics:
    stalls = {kind.removeprefix("stall:"): n for kind, n in sorted(unit.cycles.items()) if kind.startswith("stall:")}
    return {
        "track": unit.track,
        "busy_cycles": unit.cycles.get(BUSY, 0),
        "stall_cycles": stalls,
        "idle_cycles": unit.cycles.get("idle", 0),
    }


def _layers(program: Program, chip: Chip, start: int, bottlenecks: dict[int, Bottleneck]) -> list[LayerStatistics]:
    moved = traffic.by_layer(program, buses_of(chip))
    return [_layer(program, layer, bottlenecks[k], start, moved[k]) for k, layer in enumerate(program.layers)]


def _layer(program: Program, layer: Layer, bottleneck: Bottleneck, start: int, moved: BytesByBus) -> LayerStatistics:
    """What a layer is, and its cycles of the matrix unit; ``matrix`` says what the array is given, if it runs there."""
    cycles, macs = bottleneck.cycles.total(), layer.macs * program.inferences
    matrix: MatrixShape = {
        "vectors": layer.vectors,
        "inputs": layer.inputs,
        "outputs": layer.outputs,
        "groups": layer.groups,
    }
    return {
        "network": program.name,
        "name": layer.name,
        "kind": layer.kind,
        "place": layer.place,
        "parameters": "",
        "macs": macs,
        "tiles": int(layer.place in {"array", "vector"}),
        "start_cycle": 0 if bottleneck.start is None else bottleneck.start - start,
        "cycles": cycles,
        "mac_utilisation": _utilisation(macs, cycles, program),
        "mac_busy_cycles": bottleneck.cycles[USEFUL] + bottleneck.cycles[UNUSED],
        "bound_by": bottleneck.bound_by(),
        "breakdown": bottleneck.breakdown,
        "matrix": matrix if layer.place == "array" else None,
        "bytes": moved,
    }
