"""The statistics document of a run of the tiled chip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from tilesim.findings import Finding
from tilesim.machines import statistics
from tilesim.machines.accounts import Bus
from tilesim.sim.bottleneck import Bottleneck, whole
from tilesim.sim.core.action import Action
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import (
    BytesByBus,
    LayerPartition,
    LayerStatistics,
    MapPartition,
    PartitionStatistics,
    RequestStatistics,
    RunStatistics,
)
from tilesim.tiled.isa.model.instructions import WORD_BYTES, Infeed
from tilesim.tiled.isa.model.program import Layer, MapCut, Program, Request
from tilesim.tiled.run.bottleneck import NO_WORK, bottlenecks_of
from tilesim.tiled.run.measured import Measured
from tilesim.tiled.topology import Topology


def document(
    program: Program,
    measured: Measured,
    load_cycles: int,
    run: range,
    trace: Trace | None,
    raced: Sequence[Finding] = (),
) -> RunStatistics:
    """Everything that ``run.json`` holds of a run that took the cycles ``run``; what was ``raced`` for is among the
    findings, as :mod:`~tilesim.tiled.run.touched` tells.

    ``links`` are those of the ring and of the mesh, and the stops of the instruction bus. A layer's ``start_cycle`` is
    that in the first of several inferences. That of a request is when the controller begins to issue its instructions,
    its parameters' included if they were ``loaded`` in between (of the first, when the run begins);
    ``interval_cycles`` is the mean between the last words of consecutive requests.
    """
    topology, cycles = program.topology, len(run)
    requests = _requests(program, measured, run)
    interval = _interval([request["end_cycle"] for request in requests])
    buses, bottlenecks = measured.buses, bottlenecks_of(program, measured)
    said = statistics.document(
        program,
        run,
        load_cycles=load_cycles,
        macs=sum(layer.macs for layer in program.layers),
        peak_macs_per_cycle=topology.tiles * topology.macs_per_cycle,
        accounts=measured.accounts,
        links=[track for name in ("ring", "mesh", "instruction_bus") for track in buses[name].links],
        buses=buses,
        carriers=carriers(buses),
        widths=widths(topology),
        bottleneck=whole(bottlenecks.values()),
        layers=[
            _layer(program, measured, k, run.start, bottlenecks[k], moved)
            for k, moved in enumerate(measured.accounts.by_layer(buses))
        ],
        requests=requests,
        throughput_per_second=topology.clock_hz / max(1, interval or cycles),
        streamed_bytes=_streamed_bytes(program),
        interval_cycles=interval,
        partition=_partition(program),
        findings=[*measured.findings, *raced],
        trace=trace,
    )
    if not program.steps:
        return said
    from tilesim.tiled.run.host_account import host_steps  # which most programs don't need

    return {**said, "host_steps": [*host_steps(program, measured.steps_began, run.start)]}


def _streamed_bytes(program: Program) -> int:
    """Parameters that leave data memory while the program runs."""
    rows = sum(op.total_rows for op in program.run if isinstance(op, Infeed) and op.source == "data")
    return rows * program.topology.wide_memory.row_bytes


def _partition(program: Program) -> PartitionStatistics:
    layers = [(k, layer) for k, layer in enumerate(program.layers) if layer.spread]
    return {
        "asked": program.partition,
        "layers": [_layer_partition(k, layer) for k, layer in layers],
        "candidates": [
            {"name": tried.name, "cycles": tried.cycles, "reason": tried.reason, "network": tried.network}
            for tried in program.candidates
        ],
    }


def _layer_partition(k: int, layer: Layer) -> LayerPartition:
    said: LayerPartition = {"layer": k, "choice": layer.spread, "reason": layer.reason}
    if layer.cut is not None:
        said["map"] = _map(layer.cut)
    return said


def _map(cut: MapCut) -> MapPartition:
    said: MapPartition = {
        "extent": [*cut.extent],
        "rows": [*cut.rows],
        "columns": [*cut.columns],
        "block": cut.block,
    }
    return {**said, "order": [*cut.order]} if cut.order else said


def _requests(program: Program, measured: Measured, run: range) -> list[RequestStatistics]:
    """The only request ends with the run, any other with its last word; of a run that ended early, those that began."""
    requests = program.requests or (Request(program.name, len(program.outputs), int(bool(program.load))),)
    ends = list(accumulate(request.outputs for request in requests))
    outputs = [range(end - request.outputs, end) for end, request in zip(ends, requests, strict=True)]
    arrived = [measured.arrival(own) for own in outputs] if len(requests) > 1 else [0]
    over = [end if end > part.start else run.stop for end, part in zip(arrived, measured.parts, strict=False)]
    return [
        {
            "network": request.network,
            "loaded": bool(request.loads),
            "start_cycle": part.start - run.start,
            "end_cycle": end - run.start,
            "latency_cycles": end - part.start,
            "outputs": list(own),
        }
        for request, part, own, end in zip(requests, measured.parts, outputs, over, strict=False)
    ]


def _interval(ends: list[int]) -> float | None:
    apart = [later - earlier for earlier, later in pairwise(ends)]
    return sum(apart) / len(apart) if apart else None


def _layer(
    program: Program, measured: Measured, k: int, start: int, bottleneck: Bottleneck, moved: BytesByBus
) -> LayerStatistics:
    """What layer ``k`` is, and how long its tiles took from the first one's first step to the last one's last word.

    Tiles go on to the next layer as soon as they can, so that layers overlap: ``start_cycle`` tells.
    """
    layer = program.layers[k]
    spans = [(int(part.began[k]), int(part.ended[k])) for part in measured.parts if part.tiles[k]]
    tiles, cycles = max(int(part.tiles[k]) for part in measured.parts), sum(end - first for first, end in spans)
    return {
        "network": layer.network or program.name,
        "name": layer.name,
        "kind": layer.kind,
        "place": layer.place,
        "bands": layer.bands,
        "parameters": layer.parameters,
        "macs": layer.macs,
        "tiles": tiles,
        "start_cycle": spans[0][0] - start if spans else 0,
        "cycles": cycles,
        "mac_utilisation": statistics.utilisation(layer.macs, tiles * program.topology.macs_per_cycle, cycles),
        "mac_busy_cycles": bottleneck.cycles["macs"],
        "bytes": moved,
        "bound_by": bottleneck.bound_by(ignoring=NO_WORK),
        "breakdown": bottleneck.breakdown,
    }


def carriers(buses: Mapping[str, Bus]) -> dict[Action, Sequence[str]]:
    """What carries bytes by an action: links, host, the controller as it fetches instructions."""
    return {
        Action.RING_HOP: buses["ring"].links,
        Action.MESH_HOP: buses["mesh"].links,
        Action.INSTRUCTION_HOP: buses["instruction_bus"].links,
        Action.INSTRUCTION_MEMORY_READ: buses["instruction_bus"].entries,
        Action.HOST_TRANSFER: buses["host"].links,
    }


def widths(topology: Topology) -> dict[Action, int]:
    """The bytes of an action that moves some."""
    word, row = topology.narrow_memory.word_bytes, topology.wide_memory.row_bytes
    words = (Action.NARROW_READ, Action.NARROW_WRITE, Action.MESH_HOP)
    rows = (Action.WIDE_READ, Action.WIDE_WRITE, Action.DATA_MEMORY_READ, Action.RING_HOP, Action.HOST_TRANSFER)
    instructions = (Action.INSTRUCTION_HOP, Action.INSTRUCTION_MEMORY_READ)
    return {**dict.fromkeys(words, word), **dict.fromkeys(rows, row), **dict.fromkeys(instructions, WORD_BYTES)}
