"""What ``run.json`` says of every run, from what the machine measured of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat

from msgspec import Struct

from tilesim import energy
from tilesim.energy import Tally
from tilesim.findings import Finding
from tilesim.machines.program import Program
from tilesim.sim.bottleneck import Bottleneck
from tilesim.sim.core.action import Action
from tilesim.sim.core.unit import BUSY, Unit
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import (
    SCHEMA,
    BusBytes,
    BytesByBus,
    LayerStatistics,
    LinkStatistics,
    PartitionStatistics,
    RequestStatistics,
    RunStatistics,
    UnitStatistics,
)
from tilesim.units import cycles_to_us


class Bus(Struct, frozen=True):
    """The units through which bytes enter a bus, and its links: whoever moves bytes there counts them."""

    entries: list[Unit]
    links: list[Unit]


def document(
    program: Program,
    run: range,
    *,
    load_cycles: int,
    macs: int,
    peak_macs_per_cycle: int,
    units: Iterable[Unit],
    links: Iterable[Unit],
    buses: Mapping[str, Bus],
    tallies: Iterable[Tally],
    bottleneck: Bottleneck,
    layers: list[LayerStatistics],
    requests: list[RequestStatistics],
    throughput_per_second: float,
    streamed_bytes: int = 0,
    interval_cycles: float | None = None,
    partition: PartitionStatistics | None = None,
    findings: Iterable[Finding] = (),
    trace: Trace | None = None,
) -> RunStatistics:
    """Everything that ``run.json`` holds of a run of ``program`` that took the cycles ``run``, after ``load_cycles``.

    ``units`` and ``links`` are those of which there are accounts: busy, stalled and idle cycles make up the run. What
    else is given is as :class:`RunStatistics` has it.
    """
    topology, cycles = program.topology, len(run)
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
        "mac_utilisation": utilisation(macs, peak_macs_per_cycle, cycles),
        "streamed_bytes": streamed_bytes,
        "bytes": total(buses),
        "energy": energy.document(tallies, len(program.layers)),
        "bound_by": bottleneck.bound_by(),
        "breakdown": bottleneck.breakdown,
        "units": [unit_account(unit) for unit in units],
        "layers": layers,
        "links": [link_account(unit) for unit in links],
        "partition": partition,
        "findings": [*findings],
        "inferences": len(requests),
        "requests": requests,
        "interval_cycles": interval_cycles,
        "throughput_per_second": throughput_per_second,
        "trace_sha256": trace.sha256 if trace else None,
        "chip": topology.model_dump(mode="json"),
    }


def utilisation(macs: int, peak_macs_per_cycle: int, cycles: int) -> float:
    """What part of the MACs that could be done in so many cycles was."""
    peak = peak_macs_per_cycle * cycles
    return macs / peak if peak else 0.0


def unit_account(unit: Unit) -> UnitStatistics:
    """The cycles of a unit."""
    stalls = {kind.removeprefix("stall:"): n for kind, n in sorted(unit.cycles.items()) if kind.startswith("stall:")}
    return {
        "track": unit.track,
        "busy_cycles": unit.cycles.get(BUSY, 0),
        "stall_cycles": stalls,
        "idle_cycles": unit.cycles.get("idle", 0),
    }


def link_account(unit: Unit) -> LinkStatistics:
    """The cycles of a link, and its bytes."""
    return {**unit_account(unit), "bytes": unit.bytes}


def total(buses: Mapping[str, Bus]) -> BytesByBus:
    """The bytes of the whole run."""
    return {
        name: {"entered": sum(unit.bytes for unit in bus.entries), "carried": sum(unit.bytes for unit in bus.links)}
        for name, bus in buses.items()
    }


def by_layer(program: Program, buses: Mapping[str, Bus]) -> list[BytesByBus]:
    """The bytes of each layer of the program: those of the instructions that bear its number."""
    layers = _layer_of(program)
    counts = {name: (_moved(bus.entries, layers), _moved(bus.links, layers)) for name, bus in buses.items()}
    return [
        {name: BusBytes(entered=entered[k], carried=carried[k]) for name, (entered, carried) in counts.items()}
        for k in range(len(program.layers))
    ]


def tallies(
    program: Program, units: Iterable[Unit], carriers: Mapping[Action, Iterable[Unit]], widths: Mapping[Action, int]
) -> Iterator[Tally]:
    """What costs energy, since the run began: actions that ``units`` took, and those by which ``carriers`` moved their
    bytes; ``widths`` are the bytes of an action that moves some. Samples that travel together count once, like their
    cycles.
    """
    layers = _layer_of(program)
    for unit in units:
        for action, acted in unit.acted.items():
            width, times = widths.get(action, 0), _counted(acted, layers)
            sizes = [count * width for count in times.values()] if width else [0] * len(times)
            yield Tally(unit.track, action, [*times], [*times.values()], sizes)
    for action, links in carriers.items():
        width = widths[action]
        for unit in links:
            if moved := _counted(unit.moved, layers):
                counts = [size_bytes // width for size_bytes in moved.values()]
                yield Tally(unit.track, action, [*moved], counts, [*moved.values()])


def _layer_of(program: Program) -> dict[str, int]:
    """The number of each instruction's layer, by label."""
    return {op.label: op.layer for op in program.run}


def _counted(counts: Mapping[str, int], layers: Mapping[str, int]) -> Mapping[int, int]:
    """What was counted for instructions, for the layers that these belong to."""
    of_each = [*map(layers.get, counts, repeat(-1))]
    sums = dict(zip(of_each, counts.values(), strict=True))
    if len(sums) == len(counts):
        return sums
    sums = {}
    for layer, count in zip(of_each, counts.values(), strict=True):
        sums[layer] = sums.get(layer, 0) + count
    return sums


def _moved(units: Iterable[Unit], layers: Mapping[str, int]) -> Counter[int]:
    moved: Counter[int] = Counter()
    for unit in units:
        for layer, size_bytes in _counted(unit.moved, layers).items():
            moved[layer] += size_bytes
    return moved
