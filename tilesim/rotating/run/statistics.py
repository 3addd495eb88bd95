"""The statistics document of a run of the rotating machine."""

from __future__ import annotations

from tilesim.energy import UNITS
from tilesim.machines import statistics
from tilesim.machines.accounts import Bus, accounts_of
from tilesim.rotating.isa.model.instructions import ReadHostMemory
from tilesim.rotating.isa.model.program import Layer, Program
from tilesim.rotating.run.bottleneck import MACS, bottlenecks_of
from tilesim.rotating.units.chip import Chip
from tilesim.sim.bottleneck import Bottleneck, whole
from tilesim.sim.core.action import Action
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import BytesByBus, LayerStatistics, RequestStatistics, RunStatistics

WIDTHS = {action: 1 for action in Action if action not in UNITS}
"""Arithmetic is counted by the operation, all else by the byte."""


def document(program: Program, chip: Chip, load_cycles: int, run: range, trace: Trace | None) -> RunStatistics:
    """Everything that ``run.json`` holds of a run that took the cycles ``run``."""
    topology, cycles = program.topology, len(run)
    accounts, links = accounts_of(program, [*chip.units, *chip.links]), [link.track for link in chip.links]
    bottlenecks, buses = bottlenecks_of(program, chip), {"host": Bus(links, links)}
    request: RequestStatistics = {
        "network": program.name,
        "loaded": bool(program.load),
        "start_cycle": 0,
        "end_cycle": cycles,
        "latency_cycles": cycles,
        "outputs": list(range(len(program.outputs))),
    }
    moved = accounts.by_layer(buses)
    return statistics.document(
        program,
        run,
        load_cycles=load_cycles,
        macs=sum(layer.macs for layer in program.layers),
        peak_macs_per_cycle=topology.macs_per_cycle,
        accounts=accounts,
        links=links,
        buses=buses,
        carriers={Action.HOST_TRANSFER: links},
        widths=WIDTHS,
        bottleneck=whole(bottlenecks.values()),
        layers=[_layer(program, layer, bottlenecks[k], run.start, moved[k]) for k, layer in enumerate(program.layers)],
        requests=[request],
        throughput_per_second=topology.clock_hz / max(1, cycles),
        streamed_bytes=_streamed_bytes(program),
        trace=trace,
    )


def _streamed_bytes(program: Program) -> int:
    """Parameters that come from the host during the run."""
    ops = (op for op in program.run if isinstance(op, ReadHostMemory) and op.source == "data")
    return sum(op.rows for op in ops) * program.topology.row_bytes


def _layer(program: Program, layer: Layer, bottleneck: Bottleneck, start: int, moved: BytesByBus) -> LayerStatistics:
    """What a layer is, and its cycles of the array."""
    cycles = bottleneck.cycles.total()
    return {
        "network": program.name,
        "name": layer.name,
        "kind": layer.kind,
        "place": "array" if cycles else "nowhere",
        "parameters": "",
        "macs": layer.macs,
        "tiles": int(bool(cycles)),
        "start_cycle": 0 if bottleneck.start is None else bottleneck.start - start,
        "cycles": cycles,
        "mac_utilisation": statistics.utilisation(layer.macs, program.topology.macs_per_cycle, cycles),
        "mac_busy_cycles": sum(bottleneck.cycles[cause] for cause in MACS),
        "bound_by": bottleneck.bound_by(),
        "breakdown": bottleneck.breakdown,
        "bytes": moved,
    }
