"""Several runs of one network side by side: how fast each is, and where the difference to the first comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tilesim.errors import InputError
from tilesim.report.analysis.batching import footprint
from tilesim.report.costs import MACS, Statistics, mac_arrays
from tilesim.report.document import SavedRun
from tilesim.report.setups import differing

SCHEMA = "tilesim.comparison/1"
OTHER = "other"
"""Behind cycles of a run whose causes its machine does not tell."""
NO_WORK = "no work"
Cycles: TypeAlias = dict[str, float]
"""Cycles by cause."""


@dataclass(frozen=True)
class Layer:
    """A layer that runs have in common: which one it is in each of them, None where one has none like it."""

    network: str
    name: str
    kind: str
    macs: int
    numbers: tuple[int | None, ...]


@dataclass(frozen=True)
class Comparison:
    """Runs, by the names that tell them from one another, and the layers that they have in common."""

    names: tuple[str, ...]
    runs: tuple[Statistics, ...]
    layers: tuple[Layer, ...]

    @property
    def first(self) -> Statistics:
        return self.runs[0]


def compared(runs: Sequence[SavedRun]) -> Comparison:
    """Runs of the same network, of which the others are compared with the first.

    Raises:
        InputError: fewer than two runs, or runs that can't be compared, all reasons at once.
    """
    if len(runs) < 2:
        raise InputError(f"a comparison must be of at least two runs, not of {len(runs)}")
    if faults := list(_faults(runs)):
        raise InputError(faults)
    statistics = tuple(run.statistics for run in runs)
    return Comparison(tuple(_names(runs)), statistics, tuple(_matched(statistics)))


def _faults(runs: Sequence[SavedRun]) -> Iterator[str]:
    """Why the runs can't be compared with the first."""
    first = runs[0]
    for run in runs[1:]:
        for theirs, ours in zip(_subject(first.statistics), _subject(run.statistics), strict=True):
            if theirs != ours:
                yield f"{run.folder}: must be a run of {theirs}, as {first.folder} is, not of {ours}"
    idle = [run.folder for run in runs if not run.statistics["cycles"]]
    yield from (f"{folder}: must have taken some cycles to be compared" for folder in idle)


def _subject(run: Statistics) -> tuple[str, str]:
    """What was run, and how often, in words."""
    count = run["inferences"]
    return f"the network {run['network']}", f"{count} inference{'' if count == 1 else 's'}"


def _names(runs: Sequence[SavedRun]) -> Iterator[str]:
    """The folders' own names where these tell them apart, else all of their paths; one that comes again, numbered."""
    short = [run.folder.resolve().name for run in runs]
    names = short if len(set(short)) == len(runs) else [str(run.folder) for run in runs]
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


def _matched(runs: Sequence[Statistics]) -> Iterator[Layer]:
    """Layers of the same name and kind: the k-th of those of each run; first those of the first run, in its order."""
    numbered = [_numbered(run["layers"]) for run in runs]
    for key in dict.fromkeys(key for each in numbered for key in each):
        numbers = tuple(each.get(key) for each in numbered)
        layer = next(run["layers"][k] for run, k in zip(runs, numbers, strict=True) if k is not None)
        network, name, kind, _ = key
        yield Layer(network, name, kind, layer["macs"], numbers)


def _numbered(layers: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str, int], int]:
    before: Counter[tuple[str, str, str]] = Counter()
    found: dict[tuple[str, str, str, int], int] = {}
    for k, layer in enumerate(layers):
        key = (layer.get("network") or "", layer["name"], layer["kind"])
        found[*key, before[key]] = k
        before[key] += 1
    return found


# ---- where the cycles went


def arrays(run: Statistics) -> int:
    """The MAC arrays of a run's chip, over which cycles by cause are averaged."""
    return max(1, len(mac_arrays(run)))


def causes(run: Statistics) -> Cycles:
    """What the cycles of a run went into, as its average MAC array has it: together they are the run."""
    found = {cause: cycles / arrays(run) for cause, cycles in run["breakdown"].items()}
    rest = run["cycles"] * arrays(run) - sum(run["breakdown"].values())
    return {**found, OTHER: rest / arrays(run)} if rest else found


def share_of(layer: Mapping[str, Any], run: Statistics) -> Cycles:
    """A layer's part of :func:`causes`; those of all layers and :func:`outside` together are the run."""
    return {cause: cycles / arrays(run) for cause, cycles in layer["breakdown"].items()}


def outside(run: Statistics) -> Cycles:
    """The part of :func:`causes` that belongs to no layer."""
    found: Counter[str] = Counter(run["breakdown"])
    for layer in run["layers"]:
        found.subtract(layer["breakdown"])
    rest = causes(run).get(OTHER, 0.0)
    return {cause: n / arrays(run) for cause, n in found.items() if n} | ({OTHER: rest} if rest else {})


def speed_up(run: Statistics, first: Statistics) -> float:
    """How many times as fast as the first run, in time."""
    return float((first["cycles"] / first["clock_hz"]) / (run["cycles"] / run["clock_hz"]))


def _energy(run: Statistics) -> Mapping[str, Any]:
    """The energy of a run, empty if it says nothing of it."""
    return run.get("energy") or {"total_pj": None, "actions": {}, "layers": [], "table": None}


# ---- the document


def document(of: Comparison) -> dict[str, Any]:
    """Everything that tables and pictures show.

    ``cycles`` of ``causes`` and ``layers`` are those of the average MAC array of each run's chip, so that causes sum up
    to the cycles of the run, and so do ``layers`` and ``outside``; None: a run that has no such layer.
    """
    listed = _causes(of)
    return {
        "schema": SCHEMA,
        "network": of.first["network"],
        "runs": [_run(name, run, of.first) for name, run in zip(of.names, of.runs, strict=True)],
        "differing": differing(of.runs),
        "causes": [{"cause": cause, "cycles": [causes(run).get(cause, 0.0) for run in of.runs]} for cause in listed],
        "layers": [_layer(layer, of) for layer in of.layers],
        "outside": [outside(run) for run in of.runs],
        "notes": list(_notes(of)),
    }


def _causes(of: Comparison) -> list[str]:
    """All causes: computing first, no work last, those between by what they take in all runs."""
    total: Counter[str] = Counter()
    for run in of.runs:
        total.update(causes(run))
    return sorted(total, key=lambda cause: (cause in (NO_WORK, OTHER), cause not in MACS, -total[cause], cause))


def _run(name: str, run: Statistics, first: Statistics) -> dict[str, Any]:
    faster, tiles = speed_up(run, first), arrays(run)
    return {
        "name": name,
        "topology": run["topology"],
        "machine": run["machine"],
        "tiles": tiles,
        "cycles": run["cycles"],
        "load_cycles": run["load_cycles"],
        "clock_hz": run["clock_hz"],
        "time_us": run["cycles"] * 1e6 / run["clock_hz"],
        "speed_up": faster,
        "efficiency": faster * arrays(first) / tiles,
        "inferences": run["inferences"],
        "mac_utilisation": run["mac_utilisation"],
        "bound_by": run.get("bound_by"),
        "bytes": {bus: moved["carried"] for bus, moved in run["bytes"].items()},
        "streamed_bytes": run.get("streamed_bytes", 0),
        "energy_pj": _energy(run)["total_pj"],
        "batching": _batching(run),
        "energy_pj_by_action": {action: found["pj"] for action, found in _energy(run)["actions"].items()},
    }


def _batching(run: Statistics) -> dict[str, Any] | None:
    """What the batches of a run cost, if it has some: ``footprint`` are pairs of a cycle and the bytes from then on."""
    found = run.get("batching")
    if not found:
        return None
    numbers = {key: value for key, value in found.items() if key.endswith(("_cycles", "_bytes", "_loads"))}
    return {"schedule": found["schedule"], **numbers, "footprint": [list(point) for point in footprint(found["steps"])]}


def _layer(layer: Layer, of: Comparison) -> dict[str, Any]:
    parts = [None if k is None else _part(run, k) for run, k in zip(of.runs, layer.numbers, strict=True)]
    return {"network": layer.network, "name": layer.name, "kind": layer.kind, "macs": layer.macs, "runs": parts}


def _part(run: Statistics, number: int) -> dict[str, Any]:
    layer = run["layers"][number]
    by_cause = share_of(layer, run)
    energies = _energy(run)["layers"]
    return {
        "number": number,
        "cycles": sum(by_cause.values()),
        "causes": by_cause,
        "lasted_cycles": layer["cycles"],
        "tiles": layer["tiles"],
        "bound_by": layer["bound_by"],
        "parameters": layer.get("parameters", ""),
        "energy_pj": energies[number]["total_pj"] if number < len(energies) else None,
    }


def _notes(of: Comparison) -> Iterator[str]:
    """What a reader has to know of runs that are not quite alike."""
    first = of.first
    for k, (name, run) in enumerate(zip(of.names, of.runs, strict=True)):
        if missing := sum(layer.numbers[k] is None for layer in of.layers):
            yield f"{name} lacks {missing} of the {len(of.layers)} layers, by name and kind, that are compared"
        if run["macs"] != first["macs"]:
            yield f"{name} does {run['macs']:,} MACs, {of.names[0]} {first['macs']:,}: the networks are not the same"
        if run["machine"] != first["machine"]:
            yield f"{name} ran on a {run['machine']} machine, {of.names[0]} on a {first['machine']} one"
        if run["clock_hz"] != first["clock_hz"]:
            yield f"{name} has another clock than {of.names[0]}: speed-ups are of time, not of cycles"
        table, firsts = _energy(run)["table"], _energy(first)["table"]
        if table is None:
            yield f"{name} does not say what energy it took"
        elif firsts is not None and table != firsts:
            yield f"{name} and {of.names[0]} take their energies from different tables"
