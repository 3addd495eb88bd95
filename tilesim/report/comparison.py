"""Several runs of one network side by side: how fast each is, and where the difference to the first comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict  # of typing's own, pydantic reads that of Python 3.12 and later only

from tilesim.errors import InputError, refuse
from tilesim.printable import numbered
from tilesim.report.analysis.batching import footprint
from tilesim.report.analysis.layers import OTHER, Cycles, arrays, computes, outside, share_of, spent
from tilesim.report.analysis.speed import efficiency, not_efficient, speed_up
from tilesim.report.document import SavedRun, invalid, shown
from tilesim.report.words import end_words, instant_words
from tilesim.statistics import BatchCosts, LayerStatistics, RunStatistics

SCHEMA = "tilesim.comparison/1"
NO_WORK = "no work"
COMPUTING, WAITING = "macs", "waiting"
"""The causes that runs of different machines have in common."""
UNLIKE = "only computing and waiting are compared of their causes"
UNCOMPARED = ("name", "description")
"""Keys of a chip that say nothing of how it works."""


class ComparedBatches(BatchCosts):
    """What the batches of a run cost."""

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
    efficiency: float | None
    """``speed_up`` by how many times as many MAC arrays it has; None of those that are not like the first run's: of
    another kind of machine, of other MACs a cycle, or with another clock.
    """
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


class Setting(TypedDict):
    """What runs differ in."""

    key: str
    """A key of the chip, or what the program was asked for."""
    values: list[str | None]
    """What each run has there, as YAML spells it; None where it has nothing."""


class ComparedCause(TypedDict):
    """What a cause takes of each run."""

    cause: str
    """As in ``breakdown`` of run.json; of runs on different machines only ``macs`` and ``waiting``."""
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
    """What the model calls it: by its node in ONNX, if that has a name of its own, else by its output."""
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
    """The settings in which they differ; on different machines, of those that all have."""
    causes: list[ComparedCause]
    """What the cycles of each went into."""
    layers: list[ComparedLayer]
    """The same layer by layer."""
    outside: list[Cycles]
    """What belongs to no layer, a run an entry."""
    notes: list[str]
    """What a reader has to know of runs that are not quite alike."""


def compared(runs: Sequence[SavedRun], names: Sequence[str] = ()) -> ComparisonDocument:
    """Runs of the same network, of which the others are compared with the first; called by their folders' names, or as
    ``names`` says.

    Raises:
        InputError: fewer than two runs, or runs that can't be compared, all reasons at once.
    """
    if len(runs) < 2:
        raise InputError(f"a comparison must be of at least two runs, not of {len(runs)}")
    refuse(_faults(runs))
    names, statistics = list(names or _names(runs)), [run.statistics for run in runs]
    if mixed := not _same_machine(statistics):
        statistics = [_in_common(run) for run in statistics]
    settings = _differing(statistics)
    layers = list(_layers(statistics))
    return {
        "schema": SCHEMA,
        "network": statistics[0]["network"],
        "runs": [_run(name, run, statistics[0]) for name, run in zip(names, statistics, strict=True)],
        "differing": [row for row in settings if None not in row["values"]] if mixed else settings,
        "causes": [
            {"cause": cause, "cycles": [spent(run).get(cause, 0.0) for run in statistics]}
            for cause in _all_causes(statistics)
        ],
        "layers": layers,
        "outside": [outside(run) for run in statistics],
        "notes": list(_notes(names, statistics, layers)),
    }


def must_be_comparison(document: object) -> None:
    """Raises InputError, all faults at once, for what :func:`compared` has not made."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise InputError(
            f"a comparison must be what tilesim.compare returns, of schema {SCHEMA!r}, not {shown(document)}"
        )
    refuse(invalid(ComparisonDocument, document, "comparison"))


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
    return numbered(short if len(set(short)) == len(runs) else [str(run.folder) for run in runs])


def _layers(runs: Sequence[RunStatistics]) -> Iterator[ComparedLayer]:
    """Layers of the same name and kind: the k-th of those of each run; first those of the first run, in its order."""
    numbered = [_numbered(run["layers"]) for run in runs]
    for key in dict.fromkeys(key for layers in numbered for key in layers):
        places = [(run, layers.get(key)) for run, layers in zip(runs, numbered, strict=True)]
        macs = next(run["layers"][k]["macs"] for run, k in places if k is not None)
        parts = [None if k is None else _part(run, k) for run, k in places]
        network, name, kind, _ = key
        yield {"network": network, "name": name, "kind": kind, "macs": macs, "runs": parts}


def _numbered(layers: Sequence[LayerStatistics]) -> dict[tuple[str, str, str, int], int]:
    before: Counter[tuple[str, str, str]] = Counter()
    numbers: dict[tuple[str, str, str, int], int] = {}
    for k, layer in enumerate(layers):
        key = (layer["network"], layer["name"], layer["kind"])
        numbers[*key, before[key]] = k
        before[key] += 1
    return numbers


# ---- what machines have in common, and what causes there are


def _same_machine(runs: Iterable[RunStatistics]) -> bool:
    return len({run["machine"] for run in runs}) == 1


def _in_common(run: RunStatistics) -> RunStatistics:
    """A run with the causes that all machines have in common; what arrays wait for each tells in its own words."""

    def merged(breakdown: Mapping[str, int]) -> dict[str, int]:
        computing = sum(cycles for cause, cycles in breakdown.items() if computes(cause, run))
        return {COMPUTING: computing, WAITING: sum(breakdown.values()) - computing}

    layers: list[LayerStatistics] = [{**layer, "breakdown": merged(layer["breakdown"])} for layer in run["layers"]]
    return {**run, "breakdown": merged(run["breakdown"]), "layers": layers}


def _all_causes(runs: Sequence[RunStatistics]) -> list[str]:
    """All causes: computing first, no work last, those between by what they take in all runs."""
    total: Counter[str] = Counter()
    for run in runs:
        total.update(spent(run))
    first = {cause for cause in total if cause == COMPUTING or computes(cause, runs[0])}
    return sorted(total, key=lambda cause: (cause in (NO_WORK, OTHER), cause not in first, -total[cause], cause))


# ---- what was set otherwise: keys of the chip, and what programs were asked for


def _differing(runs: Sequence[RunStatistics]) -> list[Setting]:
    """The settings in which runs differ."""
    of_runs = [dict(_settings(run)) for run in runs]
    keys = dict.fromkeys(key for settings in of_runs for key in settings)
    rows: list[Setting] = [{"key": key, "values": [settings.get(key) for settings in of_runs]} for key in keys]
    return [row for row in rows if len(set(row["values"])) > 1]


def _settings(run: RunStatistics) -> Iterator[tuple[str, str]]:
    yield from _flat(run["chip"])
    partition = run.get("partition")
    if partition and partition["asked"]:
        yield "partition", partition["asked"]
    homes = Counter(layer.get("parameters") or "" for layer in run["layers"])
    yield "parameters", ", ".join(f"{home}: {count}" for home, count in sorted(homes.items()) if home) or "none"


def _flat(section: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Dotted keys with their values as YAML spells them."""
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        elif above or key not in UNCOMPARED:
            yield f"{above}{key}", str(value).lower() if isinstance(value, bool) else str(value)


# ---- the parts of the document


def _run(name: str, run: RunStatistics, first: RunStatistics) -> ComparedRun:
    energy = run.get("energy")
    return {
        "name": name,
        "topology": run["topology"],
        "machine": run["machine"],
        "tiles": arrays(run),
        "cycles": run["cycles"],
        "load_cycles": run["load_cycles"],
        "clock_hz": run["clock_hz"],
        "time_us": run["cycles"] * 1e6 / run["clock_hz"],
        "speed_up": speed_up(run, first),
        "efficiency": efficiency(run, first),
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


def _notes(names: Sequence[str], runs: Sequence[RunStatistics], layers: Sequence[ComparedLayer]) -> Iterator[str]:
    """What a reader has to know of runs that are not quite alike."""
    first = runs[0]
    for k, (name, run) in enumerate(zip(names, runs, strict=True)):
        if "end" in run:
            yield f"{name} {end_words(run['end'])}: its figures are those up to where it stood"
        if instant := instant_words(run):
            yield f"in {name}, {instant}"
        if missing := sum(layer["runs"][k] is None for layer in layers):
            yield f"{name} lacks {missing} of the {len(layers)} layers, by name and kind, that are compared"
        if run["macs"] != first["macs"]:
            yield f"{name} does {run['macs']:,} MACs, {names[0]} {first['macs']:,}: the networks are not the same"
        if run["machine"] != first["machine"]:
            yield f"{name} ran on a {run['machine']} machine, {names[0]} on a {first['machine']} one: {UNLIKE}"
        if run["clock_hz"] != first["clock_hz"]:
            yield f"{name} has another clock than {names[0]}: speed-ups are of time, not of cycles"
        yield from not_efficient(name, run, names[0], first)
        energy, firsts = run.get("energy"), first.get("energy")
        if not energy:
            yield f"{name} does not say what energy it took"
        elif firsts and energy["table"] != firsts["table"]:
            yield f"{name} and {names[0]} take their energies from different tables"
