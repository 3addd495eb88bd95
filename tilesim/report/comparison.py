"""Several runs of one network side by side: how fast each is, and where the difference to the first comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

from tilesim.errors import InputError
from tilesim.report.analysis.batching import footprint
from tilesim.report.costs import MACS, mac_arrays
from tilesim.report.document import SavedRun
from tilesim.report.setups import Setting, differing
from tilesim.statistics import LayerStatistics, RunStatistics

SCHEMA = "tilesim.comparison/1"
OTHER = "other"
"""Behind cycles of a run whose causes its machine does not tell."""
NO_WORK = "no work"
Cycles: TypeAlias = dict[str, float]
"""Cycles of the average MAC array, by cause."""


class ComparedBatches(TypedDict):
    """What the batches of a run cost."""

    schedule: str
    """How batches were chosen."""
    weight_set_loads: int
    """How many steps began with weights that were not in the array."""
    weight_bytes: int
    """Bytes that weight memory sent."""
    peak_buffer_bytes: int
    """The most bytes that waited between layers."""
    latency_first_cycles: int
    """Latency of the first inference."""
    latency_last_cycles: int
    """Latency of the last inference."""
    footprint: list[list[int]]
    """Pairs: from a cycle on, so many bytes of the unified buffer are in use."""


class ComparedRun(TypedDict):
    """A run of a comparison."""

    name: str
    """What tells it from the others."""
    topology: str
    """Name of the chip."""
    machine: str
    """The kind of machine."""
    tiles: int
    """MAC arrays of the chip."""
    cycles: int
    """Cycles of the run."""
    load_cycles: int
    """Cycles of the load before it."""
    clock_hz: int
    """Cycles a second."""
    time_us: float
    """What ``cycles`` take, in microseconds."""
    speed_up: float
    """The first run's time by this one's."""
    efficiency: float
    """``speed_up`` by how many times as many MAC arrays it has."""
    inferences: int
    """How many inferences the run is of."""
    mac_utilisation: float
    """MACs by those that the machine could do in ``cycles``."""
    bound_by: str | None
    """The cause that most cycles of the MAC arrays went into."""
    bytes: dict[str, int]
    """By bus, counted on each link that they passed."""
    streamed_bytes: int
    """Parameter bytes that came during the run."""
    energy_pj: float | None
    """Dynamic energy in picojoules; None if the run does not say."""
    batching: ComparedBatches | None
    """Batches, if the run has some."""
    energy_pj_by_action: dict[str, float]
    """Energy by action."""


class ComparedCause(TypedDict):
    """What a cause takes of each run."""

    cause: str
    """As in ``breakdown`` of run.json."""
    cycles: list[float]
    """Cycles of the average MAC array, a number a run."""


class LayerOfRun(TypedDict):
    """A layer in one run."""

    number: int
    """Its place in ``layers`` of run.json."""
    cycles: float
    """Cycles of the average MAC array that went into it."""
    causes: Cycles
    """The same by cause."""
    lasted_cycles: int
    """From its first step to its last result."""
    tiles: int
    """On how many tiles it ran."""
    bound_by: str | None
    """The cause that most of its cycles went into."""
    parameters: str
    """Where its parameters lived."""
    energy_pj: float | None
    """Its energy in picojoules; None if the run does not say."""


class ComparedLayer(TypedDict):
    """A layer that runs have in common."""

    network: str
    """Whose layer it is."""
    name: str
    """The name of its output in the model."""
    kind: str
    """Its operator."""
    macs: int
    """Multiply-accumulates that the model asks for."""
    runs: list[LayerOfRun | None]
    """What it is in each run; None in one that has no such layer."""


class ComparisonDocument(TypedDict):
    """Several runs of a network side by side.

    ``cycles`` of ``causes`` and ``layers`` are those of the average MAC array of each run's chip, so that causes sum up
    to the cycles of the run, and so do ``layers`` and ``outside``.
    """

    schema: str
    """``tilesim.comparison/1``."""
    network: str
    """What was run."""
    runs: list[ComparedRun]
    """The runs; the others are compared with the first."""
    differing: list[Setting]
    """The settings in which they differ."""
    causes: list[ComparedCause]
    """What the cycles of each went into."""
    layers: list[ComparedLayer]
    """The same layer by layer."""
    outside: list[Cycles]
    """What belongs to no layer, a run an entry."""
    notes: list[str]
    """What a reader has to know of runs that are not quite alike."""


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
    runs: tuple[RunStatistics, ...]
    layers: tuple[Layer, ...]

    @property
    def first(self) -> RunStatistics:
        return self.runs[0]


def compared(runs: Sequence[SavedRun], names: tuple[str, ...] = ()) -> Comparison:
    """Runs of the same network, of which the others are compared with the first; called by their folders' names, or as
    ``names`` says.

    Raises:
        InputError: fewer than two runs, or runs that can't be compared, all reasons at once.
    """
    if len(runs) < 2:
        raise InputError(f"a comparison must be of at least two runs, not of {len(runs)}")
    if faults := list(_faults(runs)):
        raise InputError(faults)
    statistics = tuple(run.statistics for run in runs)
    return Comparison(names or tuple(_names(runs)), statistics, tuple(_matched(statistics)))


def _faults(runs: Sequence[SavedRun]) -> Iterator[str]:
    """Why the runs can't be compared with the first."""
    first = runs[0]
    for run in runs[1:]:
        for theirs, ours in zip(_subject(first.statistics), _subject(run.statistics), strict=True):
            if theirs != ours:
                yield f"{run.folder}: must be a run of {theirs}, as {first.folder} is, not of {ours}"
    idle = [run.folder for run in runs if not run.statistics["cycles"]]
    yield from (f"{folder}: must have taken some cycles to be compared" for folder in idle)


def _subject(run: RunStatistics) -> tuple[str, str]:
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


def _matched(runs: Sequence[RunStatistics]) -> Iterator[Layer]:
    """Layers of the same name and kind: the k-th of those of each run; first those of the first run, in its order."""
    numbered = [_numbered(run["layers"]) for run in runs]
    for key in dict.fromkeys(key for layers in numbered for key in layers):
        numbers = tuple(layers.get(key) for layers in numbered)
        layer = next(run["layers"][k] for run, k in zip(runs, numbers, strict=True) if k is not None)
        network, name, kind, _ = key
        yield Layer(network, name, kind, layer["macs"], numbers)


def _numbered(layers: Sequence[LayerStatistics]) -> dict[tuple[str, str, str, int], int]:
    before: Counter[tuple[str, str, str]] = Counter()
    numbers: dict[tuple[str, str, str, int], int] = {}
    for k, layer in enumerate(layers):
        key = (layer["network"], layer["name"], layer["kind"])
        numbers[*key, before[key]] = k
        before[key] += 1
    return numbers


# ---- where the cycles went


def arrays(run: RunStatistics) -> int:
    """The MAC arrays of a run's chip, over which cycles by cause are averaged."""
    return max(1, len(mac_arrays(run)))


def causes(run: RunStatistics) -> Cycles:
    """What the cycles of a run went into, as its average MAC array has it: together they are the run."""
    told = share_of(run, run)
    rest = run["cycles"] * arrays(run) - sum(run["breakdown"].values())
    return {**told, OTHER: rest / arrays(run)} if rest else told


def share_of(layer: LayerStatistics | RunStatistics, run: RunStatistics) -> Cycles:
    """A layer's part of :func:`causes`; those of all layers and :func:`outside` together are the run."""
    return {cause: cycles / arrays(run) for cause, cycles in layer["breakdown"].items()}


def outside(run: RunStatistics) -> Cycles:
    """The part of :func:`causes` that belongs to no layer."""
    cycles: Counter[str] = Counter(run["breakdown"])
    for layer in run["layers"]:
        cycles.subtract(layer["breakdown"])
    rest = causes(run).get(OTHER, 0.0)
    return {cause: n / arrays(run) for cause, n in cycles.items() if n} | ({OTHER: rest} if rest else {})


def speed_up(run: RunStatistics, first: RunStatistics) -> float:
    """How many times as fast as the first run, in time."""
    return (first["cycles"] / first["clock_hz"]) / (run["cycles"] / run["clock_hz"])


# ---- the document


def document(of: Comparison) -> ComparisonDocument:
    """Everything that tables and pictures show."""
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


def _run(name: str, run: RunStatistics, first: RunStatistics) -> ComparedRun:
    energy = run.get("energy")
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
        "bound_by": run["bound_by"],
        "bytes": {bus: moved["carried"] for bus, moved in run["bytes"].items()},
        "streamed_bytes": run.get("streamed_bytes", 0),
        "energy_pj": energy and energy["total_pj"],
        "batching": _batches(run),
        "energy_pj_by_action": {name: action["pj"] for name, action in energy["actions"].items()} if energy else {},
    }


def _batches(run: RunStatistics) -> ComparedBatches | None:
    batching = run.get("batching")
    if not batching:
        return None
    return {
        "schedule": batching["schedule"],
        "weight_set_loads": batching["weight_set_loads"],
        "weight_bytes": batching["weight_bytes"],
        "peak_buffer_bytes": batching["peak_buffer_bytes"],
        "latency_first_cycles": batching["latency_first_cycles"],
        "latency_last_cycles": batching["latency_last_cycles"],
        "footprint": [list(point) for point in footprint(batching["steps"])],
    }


def _layer(layer: Layer, of: Comparison) -> ComparedLayer:
    parts = [None if k is None else _part(run, k) for run, k in zip(of.runs, layer.numbers, strict=True)]
    return {"network": layer.network, "name": layer.name, "kind": layer.kind, "macs": layer.macs, "runs": parts}


def _part(run: RunStatistics, number: int) -> LayerOfRun:
    layer, energy = run["layers"][number], run.get("energy")
    by_cause = share_of(layer, run)
    return {
        "number": number,
        "cycles": sum(by_cause.values()),
        "causes": by_cause,
        "lasted_cycles": layer["cycles"],
        "tiles": layer["tiles"],
        "bound_by": layer["bound_by"],
        "parameters": layer.get("parameters", ""),
        "energy_pj": energy and energy["layers"][number]["total_pj"],
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
        energy, firsts = run.get("energy"), first.get("energy")
        if not energy:
            yield f"{name} does not say what energy it took"
        elif firsts and energy["table"] != firsts["table"]:
            yield f"{name} and {of.names[0]} take their energies from different tables"
