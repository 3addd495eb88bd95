"""Runs side by side as tables for a terminal: a comparison of saved ones, and one network on several chips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from tilesim.printable import printable
from tilesim.report.analysis.layers import run_bound_words
from tilesim.report.analysis.speed import efficiency, not_efficient, speed_up
from tilesim.report.comparison import ComparedLayer, ComparedRun, ComparisonDocument
from tilesim.report.tables import folded, left, right, table
from tilesim.report.words import Ending, cause_words, energy_text, short_name
from tilesim.statistics import RunStatistics
from tilesim.units import format_bytes, format_seconds

MOST_LAYERS = 5
"""Layers that are shown; the page has all."""
NUMBERS = ("tiles", "cycles", "time", "speed-up", "efficiency", "energy")
SCALING = ("tiles", "cycles", "time", "speed-up", "efficiency", "in use")


def comparison_tables(document: ComparisonDocument) -> Group:
    """Runs, what was set otherwise, where the difference comes from, by causes and by layers, and what to know."""
    first = printable(document["runs"][0]["name"])
    parts: list[RenderableType] = [
        Text.assemble(
            (printable(document["network"]), "bold"), f", {len(document['runs'])} runs; the first is {first}"
        ),
        "",
        _runs(document["runs"]),
    ]
    if document["differing"]:
        parts += ["", _settings(document)]
    if any(run["batching"] for run in document["runs"]):
        title = "Batches: weights fetched, largest footprint, latency in cycles"
        parts += ["", Text(title, "bold"), _batches(document["runs"])]
    title = f"Where the difference to {first} comes from, in cycles of the average MAC array"
    parts += ["", Text(title, "bold"), _causes(document)]
    if differing := _most_differing(document["layers"]):
        parts += ["", Text("The layers that differ most, in cycles of the average MAC array", "bold")]
        parts.append(_layers(document, differing))
    if document["notes"]:
        parts += ["", *(Text(printable(note)) for note in document["notes"])]
    return Group(*parts)


def _runs(runs: Sequence[ComparedRun]) -> Table:
    lines = table(*folded("run", "chip"), *right(*NUMBERS))
    for run in runs:
        energy = "-" if run["energy_pj"] is None else energy_text(run["energy_pj"])
        numbers = (
            f"{run['tiles']:,}", f"{run['cycles']:,}", format_seconds(run["time_us"] / 1e6), f"{run['speed_up']:.2f} x",
            _share(run["efficiency"]), energy,
        )  # fmt: skip
        chip = Text(printable(run["topology"]), no_wrap=True, overflow="ellipsis")
        lines.add_row(Text(printable(run["name"])), chip, *numbers)
    return lines


def _settings(document: ComparisonDocument) -> Table:
    values = [Column(Text(name), overflow="fold") for name in _names(document)]
    lines = table(*left("set otherwise"), *values)
    for row in document["differing"]:
        lines.add_row(
            Text(printable(row["key"])), *(Text("-" if value is None else printable(value)) for value in row["values"])
        )
    return lines


def _batches(runs: Sequence[ComparedRun]) -> Table:
    """What running inferences in batches costs, for those that do so."""
    lines = table(*folded("run", "schedule"), *right("weight sets", "weights", "buffer", "first", "last"))
    for run in runs:
        if batches := run["batching"]:
            lines.add_row(
                Text(printable(run["name"])),
                Text(printable(batches["schedule"])),
                f"{batches['weight_set_loads']:,}",
                format_bytes(batches["weight_bytes"]),
                format_bytes(batches["peak_buffer_bytes"]),
                f"{batches['latency_first_cycles']:,}",
                f"{batches['latency_last_cycles']:,}",
            )
    return lines


def _causes(document: ComparisonDocument) -> Table:
    lines = table(*folded(""), *right(*_names(document)))
    for row in document["causes"]:
        lines.add_row(Text(printable(cause_words(row["cause"]))), *_against_first(row["cycles"]))
    lines.add_row("all", *_against_first([run["cycles"] for run in document["runs"]]), style="bold")
    return lines


def _layers(document: ComparisonDocument, layers: Sequence[ComparedLayer]) -> Table:
    lines = table(*folded("layer"), *right(*_names(document)))
    for layer in layers:
        lines.add_row(Ending(short_name(layer["name"])), *_against_first(_cycles(layer)))
    return lines


def _cycles(layer: ComparedLayer) -> list[float | None]:
    return [None if part is None else part["cycles"] for part in layer["runs"]]


def _most_differing(layers: Sequence[ComparedLayer]) -> list[ComparedLayer]:
    """The layers that make most of the difference, the largest first; none that makes none."""
    by_size = sorted(layers, key=_difference, reverse=True)
    return [layer for layer in by_size[:MOST_LAYERS] if round(_difference(layer))]


def _difference(layer: ComparedLayer) -> float:
    first, *others = (cycles or 0.0 for cycles in _cycles(layer))
    return max(abs(cycles - first) for cycles in others)


def _against_first(cycles: Sequence[float | None]) -> Iterator[str]:
    """The first number, and by how much each other one differs from it."""
    first, *others = cycles
    yield "-" if first is None else f"{round(first):,}"
    for other in others:
        more = round((other or 0) - (first or 0))
        yield "-" if other is None else f"{more:+,}" if more else "0"


def _names(document: ComparisonDocument) -> tuple[str, ...]:
    return tuple(printable(run["name"]) for run in document["runs"])


def _share(efficiency: float | None) -> str:
    return "-" if efficiency is None else f"{efficiency:.0%}"


@dataclass(frozen=True)
class ChipRun:
    """A chip of ``tiles`` tiles, and its run; if there is none, ``why`` not."""

    topology: str
    tiles: int
    statistics: RunStatistics | None
    why: str = "does not fit"


def scaling_table(runs: Sequence[ChipRun]) -> Table:
    """A line a chip; speed-up, which is of time, and efficiency are over the first that ran."""
    first = next((run.statistics for run in runs if run.statistics is not None), None)
    lines = table(*folded("topology"), *right(*SCALING), *left("bound by"))
    for run in runs:
        name = Text(printable(run.topology), no_wrap=True, overflow="ellipsis")
        lines.add_row(name, f"{run.tiles:,}", *_scaled(run, first))
    return lines


def _scaled(run: ChipRun, first: RunStatistics | None) -> Iterator[str]:
    statistics = run.statistics
    if statistics is None or first is None:
        yield from (*("-" for _ in SCALING[1:]), run.why)
        return
    yield f"{statistics['cycles']:,}"
    yield format_seconds(statistics["cycles"] / statistics["clock_hz"])
    yield f"{speed_up(statistics, first):.2f} x"
    yield _share(efficiency(statistics, first))
    yield f"{statistics['mac_utilisation']:.1%}"
    yield run_bound_words(statistics)


def scaling_notes(runs: Sequence[ChipRun]) -> Iterator[str]:
    """Why those without an efficiency have none."""
    ran = [(run.topology, run.statistics) for run in runs if run.statistics is not None]
    for name, statistics in ran[1:]:
        yield from not_efficient(name, statistics, *ran[0])
