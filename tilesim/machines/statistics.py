"""What ``run.json`` says of every run, from what the machine measured of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tilesim import energy
from tilesim.findings import Finding
from tilesim.machines.accounts import Accounts, Bus
from tilesim.machines.program import Program
from tilesim.sim.bottleneck import Bottleneck
from tilesim.sim.core.action import Action
from tilesim.sim.core.unit import BUSY
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import (
    SCHEMA,
    LayerStatistics,
    LinkStatistics,
    PartitionStatistics,
    RequestStatistics,
    RunStatistics,
    UnitStatistics,
)
from tilesim.units import cycles_to_us

NOTHING: Mapping[Any, Any] = {}


def document(
    program: Program,
    run: range,
    *,
    load_cycles: int,
    macs: int,
    peak_macs_per_cycle: int,
    accounts: Accounts,
    links: Sequence[str] = (),
    buses: Mapping[str, Bus] = NOTHING,
    carriers: Mapping[Action, Sequence[str]] = NOTHING,
    widths: Mapping[Action, int] = NOTHING,
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

    Of all units, ``links`` among them, there are accounts: busy, stalled and idle cycles make up the run. Energy is for
    what :meth:`~tilesim.machines.accounts.Accounts.tallies` says. What else is given is as :class:`RunStatistics` has
    it.
    """
    topology, cycles, of_links = program.topology, len(run), {*links}
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
        "bytes": accounts.total(buses),
        "energy": energy.document(accounts.tallies(carriers, widths), len(program.layers)),
        "bound_by": bottleneck.bound_by(),
        "breakdown": bottleneck.breakdown,
        "units": [_account(track, kinds) for track, kinds in accounts.cycles.items() if track not in of_links],
        "layers": layers,
        "links": _of_links(accounts, links),
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


def _account(track: str, kinds: Mapping[str, int]) -> UnitStatistics:
    """The cycles of a unit."""
    stalls = {kind.removeprefix("stall:"): n for kind, n in sorted(kinds.items()) if kind.startswith("stall:")}
    return {
        "track": track,
        "busy_cycles": kinds.get(BUSY, 0),
        "stall_cycles": stalls,
        "idle_cycles": kinds.get("idle", 0),
    }


def _of_links(accounts: Accounts, links: Sequence[str]) -> list[LinkStatistics]:
    """The cycles of links, and their bytes."""
    sizes_bytes = accounts.bytes_of(links).sum(axis=1).tolist()
    return [
        {**_account(track, accounts.cycles[track]), "bytes": size_bytes}
        for track, size_bytes in zip(links, sizes_bytes, strict=True)
    ]
