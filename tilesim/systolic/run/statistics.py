"""The statistics document of a run of the systolic machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.energy import UNITS
from tilesim.machines import statistics
from tilesim.machines.accounts import Bus, accounts_of
from tilesim.sim.bottleneck import Bottleneck, whole
from tilesim.sim.core.action import Action
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import (
    BatchingStatistics,
    BatchStep,
    BytesByBus,
    LayerStatistics,
    MatrixShape,
    RequestStatistics,
    RunStatistics,
)
from tilesim.systolic.isa.model import instructions as isa
from tilesim.systolic.isa.model.program import Layer, Program, Step
from tilesim.systolic.run.bottleneck import UNUSED, USEFUL, bottlenecks_of
from tilesim.systolic.units.chip import Chip

WIDTHS = {action: 1 for action in Action if action not in UNITS}
"""Arithmetic is counted by the operation, all else by the byte."""


def document(program: Program, chip: Chip, load_cycles: int, run: range, trace: Trace | None) -> RunStatistics:
    """Everything that ``run.json`` holds of a run that took the cycles ``run``.

    The ``start_cycle`` of a request is when its first byte leaves the host (of the first, when the run begins).
    ``interval_cycles`` is what each takes of the whole run, for those of a batch end almost together.
    """
    topology, cycles = program.topology, len(run)
    requests = list(_requests(program, chip, run))
    accounts = accounts_of(program, [*chip.units, *chip.links])
    bottlenecks, buses = bottlenecks_of(program, chip), _buses(chip)
    common = statistics.document(
        program,
        run,
        load_cycles=load_cycles,
        macs=sum(layer.macs for layer in program.layers) * program.inferences,
        peak_macs_per_cycle=topology.macs_per_cycle,
        accounts=accounts,
        links=[link.track for link in chip.links],
        buses=buses,
        carriers={Action.HOST_TRANSFER: [link.track for link in (chip.infeed, chip.outfeed, chip.instructions)]},
        widths=WIDTHS,
        bottleneck=whole(bottlenecks.values()),
        layers=[
            _layer(program, program.layers[k], bottlenecks[k], run.start, moved)
            for k, moved in enumerate(accounts.by_layer(buses))
        ],
        requests=requests,
        throughput_per_second=topology.clock_hz * program.inferences / max(1, cycles),
        streamed_bytes=chip.weight_memory.bytes,
        interval_cycles=cycles / program.inferences if program.inferences > 1 else None,
        trace=trace,
    )
    return {**common, "batching": _batching(program, chip, run.start, requests)}


def _buses(chip: Chip) -> dict[str, Bus]:
    """The host's link for data, that of weight memory, the host's for instructions: as many bytes are carried as enter,
    for each has one link each way.
    """
    links = {
        "host": [chip.infeed, chip.outfeed],
        "weight_memory": [chip.weight_memory],
        "instructions": [chip.instructions],
    }
    tracks = {name: [unit.track for unit in units] for name, units in links.items()}
    return {name: Bus(own, own) for name, own in tracks.items()}


def _requests(program: Program, chip: Chip, run: range) -> Iterator[RequestStatistics]:
    begun, retired = chip.retirement.begun, chip.retirement.retired
    starts: dict[int, int] = {0: run.start}
    ends: dict[int, int] = {}
    for op in program.run:
        if isinstance(op, isa.ReadHostMemory) and op.source == "input":
            starts.setdefault(program.inputs[op.tensor].inference, begun[op.label])
        elif isinstance(op, isa.WriteHostMemory):
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


def _batching(
    program: Program, chip: Chip, start: int, requests: Sequence[RequestStatistics]
) -> BatchingStatistics | None:
    """The batching of a run that began in cycle ``start``; None if there was no plan.

    A step is what stands in the program behind the last instruction of the step before, up to its own last one. It
    begins when the matrix or the vector unit begins the first instruction of its layer, and ends when the last one has
    retired. ``weight_set_loads`` counts the steps that begin with a tile that was not in the array. If the schedule was
    chosen, ``predicted_cycles`` are those of all that it was chosen from.
    """
    batching = program.batching
    if batching is None:
        return None
    by_step = list(_by_step(program.run, batching.steps))
    return {
        "schedule": batching.schedule,
        "predicted_cycles": {plan.schedule: plan.cycles for plan in batching.predicted} or None,
        "weight_reuse": batching.weight_reuse,
        "batches": list(batching.batches),
        "steps": [_step(step, ops, chip, start) for step, ops in by_step],
        "weight_set_loads": sum(_fetches(ops) for _, ops in by_step),
        "weight_bytes": chip.weight_memory.bytes,
        "peak_buffer_bytes": max((step.buffer_bytes for step in batching.steps), default=0),
        "latency_first_cycles": requests[0]["latency_cycles"],
        "latency_last_cycles": requests[-1]["latency_cycles"],
    }


def _by_step(run: Sequence[isa.Instruction], steps: Sequence[Step]) -> Iterator[tuple[Step, Sequence[isa.Instruction]]]:
    """Each step with what stands in the program for it, and belongs to its layer."""
    places = {op.label: k for k, op in enumerate(run)}
    first = 0
    for step in steps:
        end = places.get(step.label, first - 1) + 1
        yield step, [op for op in run[first:end] if _computes(op, step.layer)]
        first = max(first, end)


def _computes(op: isa.Instruction, layer: int) -> bool:
    return op.layer == layer and op.queue in {isa.Queue.MATRIX, isa.Queue.VECTOR} and not isinstance(op, isa.Sync)


def _fetches(ops: Sequence[isa.Instruction]) -> bool:
    return next((op.switch for op in ops if isinstance(op, isa.MatrixMultiply)), False)


def _step(step: Step, ops: Sequence[isa.Instruction], chip: Chip, start: int) -> BatchStep:
    began = min((chip.retirement.begun[op.label] for op in ops), default=start)
    return {
        "layer": step.layer,
        "first": step.first,
        "count": step.count,
        "start_cycle": began - start,
        "end_cycle": chip.retirement.retired.get(step.label, began) - start,
        "buffer_bytes": step.buffer_bytes,
    }
