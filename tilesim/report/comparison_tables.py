"""A comparison of runs as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.printable import printable
from tilesim.report.comparison import ComparedLayer, ComparedRun, ComparisonDocument
from tilesim.report.costs import cause_words
from tilesim.report.energy import energy_text
from tilesim.report.names import Ending, short_name
from tilesim.units import format_bytes, format_seconds

MOST_LAYERS = 5
"""Layers that are shown; the page has all."""
NUMBERS = ("tiles", "cycles", "time", "speed-up", "efficiency", "energy")


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
    table = _table("run", "chip", right=NUMBERS)
    for run in runs:
        energy = "-" if run["energy_pj"] is None else energy_text(run["energy_pj"])
        numbers = (
            f"{run['tiles']:,}", f"{run['cycles']:,}", format_seconds(run["time_us"] / 1e6), f"{run['speed_up']:.2f} x",
            f"{run['efficiency']:.0%}", energy,
        )  # fmt: skip
        chip = Text(printable(run["topology"]), no_wrap=True, overflow="ellipsis")
        table.add_row(Text(printable(run["name"])), chip, *numbers)
    return table


def _settings(document: ComparisonDocument) -> Table:
    table = _table(right=("set otherwise",))
    table.columns[0].justify = "left"
    for name in _names(document):
        table.add_column(Text(name), overflow="fold")
    for row in document["differing"]:
        table.add_row(
            Text(printable(row["key"])), *(Text("-" if value is None else printable(value)) for value in row["values"])
        )
    return table


def _batches(runs: Sequence[ComparedRun]) -> Table:
    """What running inferences in batches costs, for those that do so."""
    table = _table("run", "schedule", right=("weight sets", "weights", "buffer", "first", "last"))
    for run in runs:
        if batches := run["batching"]:
            table.add_row(
                Text(printable(run["name"])),
                Text(printable(batches["schedule"])),
                f"{batches['weight_set_loads']:,}",
                format_bytes(batches["weight_bytes"]),
                format_bytes(batches["peak_buffer_bytes"]),
                f"{batches['latency_first_cycles']:,}",
                f"{batches['latency_last_cycles']:,}",
            )
    return table


def _causes(document: ComparisonDocument) -> Table:
    table = _table("", right=_names(document))
    for row in document["causes"]:
        table.add_row(Text(printable(cause_words(row["cause"]))), *_against_first(row["cycles"]))
    table.add_row("all", *_against_first([run["cycles"] for run in document["runs"]]), style="bold")
    return table


def _layers(document: ComparisonDocument, layers: Sequence[ComparedLayer]) -> Table:
    table = _table("layer", right=_names(document))
    for layer in layers:
        table.add_row(Ending(short_name(layer["name"])), *_against_first(_cycles(layer)))
    return table


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


def _table(*left: str, right: tuple[str, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in left:
        table.add_column(Text(title))
    for title in right:
        table.add_column(Text(title), justify="right", no_wrap=True)
    return table
