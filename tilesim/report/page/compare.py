"""The page of several runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilesim.errors import InputError
from tilesim.registry import description_of
from tilesim.report.analysis.batching import DEFINITION
from tilesim.report.comparison import COMPUTING, WAITING, ComparedBatches, ComparedRun, ComparisonDocument
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection, page
from tilesim.report.page.timeline_pair import timeline_pair
from tilesim.report.tracks import words
from tilesim.report.words import action_words, cause_words, energy_text, kind_words, short_name
from tilesim.units import format_bytes, format_seconds

BUSES = {
    "host": "link to the host",
    "instruction_bus": "instruction bus",
    "instructions": "link of instructions",
    "weight_memory": "link of weight memory",
}
"""Those whose names in the statistics are not yet words."""
LEAST_SHARE = 0.01
"""Of a run's energy, for an action to be listed."""


def comparison_page(document: ComparisonDocument, traced: Sequence[SavedRun] = ()) -> str:
    """The whole page of a comparison, as HTML; with a timeline of its first two runs if these are given, ``traced``.

    Raises:
        InputError: they are other runs than those of the comparison.
    """
    runs = document["runs"]
    title = f"{document['network']}: {len(runs)} runs compared"
    subtitle = f"{', '.join(run['name'] for run in runs)}, as tilesim simulated them; the first is {runs[0]['name']}"
    return page(title, subtitle, sections(document, traced))


def sections(document: ComparisonDocument, traced: Sequence[SavedRun] = ()) -> list[PageSection]:
    """The runs in figures, where the difference comes from, the runs on one axis, and the difference layer by layer."""
    runs = document["runs"]
    both = timeline_pair(dict(_named(runs, traced)))
    shared = {"names": [run["name"] for run in runs], "causes": _causes(document)}
    figures = {
        "runs": [_in_words(run) for run in runs],
        "differing": document["differing"],
        "moved": [{"key": key, "values": values} for key, values in _moved(runs)],
        "notes": document["notes"],
    }
    causes = {"rows": document["causes"], "cycles": [run["cycles"] for run in runs]}
    layers = {"layers": _layers(document), "outside": document["outside"]}
    return [
        _section("compare", "Runs", shared | figures),
        *([_batching(runs)] if any(run["batching"] for run in runs) else []),
        _section("compare_causes", "Where the difference comes from", shared | causes),
        *([both] if both else []),
        _section("compare_layers", "Layer by layer", shared | layers),
    ]


def _named(runs: Sequence[ComparedRun], traced: Sequence[SavedRun]) -> Iterator[tuple[str, SavedRun]]:
    """Runs of the comparison, by the names that they have there."""
    for run, given in zip(runs, traced, strict=False):
        cycles, chip = given.statistics["cycles"], given.statistics["topology"]
        if (cycles, chip) != (run["cycles"], run["topology"]):
            told = f"{run['name']} of {run['cycles']:,} cycles on {run['topology']}"
            raise InputError(f"the runs must be those of the comparison: {told}, not one of {cycles:,} on {chip}")
        yield run["name"], given


def _section(name: str, title: str, data: Mapping[str, Any]) -> PageSection:
    return PageSection(name, title, data, scripts=("compare_bars.js", f"{name}.js"))


def _batching(runs: Sequence[ComparedRun]) -> PageSection:
    """What runs in batches fetched, and what they kept in the buffer for it."""
    batched = [
        {**batches, "number": k, "name": run["name"], "cycles": run["cycles"], "figures": _figures(run, batches)}
        for k, run in enumerate(runs)
        if (batches := run["batching"])
    ]
    data = {"runs": batched, "definition": DEFINITION}
    return PageSection("compare_batching", "Batches", data, scripts=("batching_plot.js", "compare_batching.js"))


def _figures(run: ComparedRun, batches: ComparedBatches) -> list[dict[str, str]]:
    """What the batches of a run cost, in words."""
    per_second = run["inferences"] * run["clock_hz"] / run["cycles"]
    rows = {
        "schedule": batches["schedule"],
        "weight sets": f"{batches['weight_set_loads']:,}",
        "weights fetched": format_bytes(batches["weight_bytes"]),
        "largest footprint": format_bytes(batches["peak_buffer_bytes"]),
        "latency of the first": f"{batches['latency_first_cycles']:,} cycles",
        "latency of the last": f"{batches['latency_last_cycles']:,} cycles",
        "inferences a second": f"{per_second:,.1f}",
    }
    return [{"name": name, "value": value} for name, value in rows.items()]


def _moved(runs: Sequence[ComparedRun]) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    """Bytes on all buses, parameters, and energies that are a hundredth of a run's or more, each for every run."""
    for bus in dict.fromkeys(bus for run in runs for bus in run["bytes"]):
        yield (f"bytes on the {BUSES.get(bus, words(bus))}", tuple(_bytes(run["bytes"].get(bus)) for run in runs))
    yield ("parameters streamed", tuple(_bytes(run["streamed_bytes"]) for run in runs))
    yield ("cycles of loading", tuple(f"{run['load_cycles']:,}" for run in runs))
    yield ("energy", tuple(_energy(run["energy_pj"]) for run in runs))
    by_action = [run["energy_pj_by_action"] for run in runs]
    for action in dict.fromkeys(action for energies in by_action for action in energies):
        if any(pj.get(action, 0.0) > LEAST_SHARE * sum(pj.values()) for pj in by_action):
            yield (f"for {action_words(action)}", tuple(_energy(pj.get(action)) for pj in by_action))


def _bytes(count: int | None) -> str | None:
    return None if count is None else format_bytes(count)


def _in_words(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run with its time and its energy as people read them."""
    time = format_seconds(run["time_us"] / 1e6)
    return {**run, "time": time, "energy": _energy(run["energy_pj"]) or "–"}


def _energy(pj: float | None) -> str | None:
    return None if pj is None else energy_text(pj)


def _causes(document: ComparisonDocument) -> dict[str, dict[str, str]]:
    """What each cause is called, and what it means."""
    known = description_of(document["runs"][0]["machine"]).causes
    meanings = {cause: told.wait or "computing" for cause, told in known.items()}
    meanings |= {COMPUTING: "computing", WAITING: "waiting or without work; the page of each run says for what"}
    return {
        row["cause"]: {
            "words": cause_words(row["cause"]),
            "meaning": meanings.get(row["cause"], "not told by this machine"),
        }
        for row in document["causes"]
    }


def _layers(document: ComparisonDocument) -> list[dict[str, Any]]:
    """The layers with names and kinds for people."""
    return [
        {**layer, "short": short_name(layer["name"]), "kind": kind_words(layer["kind"])} for layer in document["layers"]
    ]
