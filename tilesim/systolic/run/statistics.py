"""The statistics document of a run of the systolic machine."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.energy import UNITS
from tilesim.machines import statistics, traffic
from tilesim.machines.statistics import Measured
from tilesim.machines.traffic import Bus
from tilesim.sim.bottleneck import Bottleneck, whole
from tilesim.sim.core.action import Action
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import (
    BytesByBus,
    LayerStatistics,
    MatrixShape,
    RequestStatistics,
    RunStatistics,
)
from tilesim.systolic.isa.model.instructions import ReadHostMemory, WriteHostMemory
from tilesim.systolic.isa.model.program import Layer, Program
from tilesim.systolic.run import batching_document
from tilesim.systolic.run.bottleneck import UNUSED, USEFUL, bottlenecks_of
from tilesim.systolic.units.chip import Chip

WIDTHS = {action: 1 for action in Action if action not in UNITS}
"""Arithmetic is counted by the operation, all else by the byte."""


def document(program: Program, chip: Chip, load_cycles: int, run: range, trace: Trace | None) -> RunStatistics:
    """Everything that ``run.json`` holds of a run that took the cycles ``run``.

    ``bytes`` are those of :mod:`~tilesim.machines.traffic`, ``energy`` is that of
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
    bottlenecks, buses = bottlenecks_of(program, chip), _buses(chip)
    carriers = {Action.HOST_TRANSFER: (chip.infeed, chip.outfeed, chip.instructions)}
    measured = Measured(
        run=run,
        load_cycles=load_cycles,
        macs=sum(layer.macs for layer in program.layers) * program.inferences,
        peak_macs_per_cycle=topology.macs_per_cycle,
        units=chip.units,
        links=chip.links,
        buses=buses,
        tallies=traffic.tallies(program, chip.units, carriers, WIDTHS),
        bottleneck=whole(bottlenecks.values()),
        layers=[
            _layer(program, layer, bottlenecks[k], run.start, moved)
            for k, (layer, moved) in enumerate(zip(program.layers, traffic.by_layer(program, buses), strict=True))
        ],
        requests=requests,
        throughput_per_second=topology.clock_hz * program.inferences / max(1, cycles),
        streamed_bytes=chip.weight_memory.bytes,
        interval_cycles=cycles / program.inferences if program.inferences > 1 else None,
        trace=trace,
    )
    batching = batching_document.document(program, chip, run.start, requests)
    return {**statistics.document(program, measured), "batching": batching}


def _buses(chip: Chip) -> dict[str, Bus]:
    """The host's link for data, that of weight memory, the host's for instructions: as many bytes are carried as enter,
    for each has one link each way.
    """
    links = {
        "host": [chip.infeed, chip.outfeed],
        "weight_memory": [chip.weight_memory],
        "instructions": [chip.instructions],
    }
    return {name: Bus(units, units) for name, units in links.items()}


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
        "mac_utilisation": statistics.utilisation(macs, program.topology.macs_per_cycle, cycles),
        "mac_busy_cycles": bottleneck.cycles[USEFUL] + bottleneck.cycles[UNUSED],
        "bound_by": bottleneck.bound_by(),
        "breakdown": bottleneck.breakdown,
        "matrix": matrix if layer.place == "array" else None,
        "bytes": moved,
    }
