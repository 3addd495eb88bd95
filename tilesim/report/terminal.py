"""A run as text that a person reads in a terminal."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.findings import sentence
from tilesim.printable import printable
from tilesim.report.costs import costs, kind_words, mac_arrays, working
from tilesim.report.energy import energy_words
from tilesim.report.inferences import inference_rows, loads_between
from tilesim.report.layers import layer_table, share
from tilesim.report.partition import partition_words
from tilesim.statistics import BatchingStatistics, RunStatistics
from tilesim.units import format_bytes, format_seconds

LARGEST = 3
WIDEST = 100_000
"""Columns that no line fills."""
NARROWEST = 80
"""Columns below which nothing gets shorter, so that numbers stay whole: the terminal folds the lines."""


def show(*parts: RenderableType) -> None:
    """Print on standard output, as wide as the terminal is or ``COLUMNS`` says, else as wide as need be; without spaces
    at the ends of lines.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if not has_width():
        console.width = WIDEST
    print_on(console, *parts)


def has_width() -> bool:
    """Whether lines on standard output have an end that somebody sees."""
    return sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()


def print_on(console: Console, *parts: RenderableType) -> None:
    """Print on ``console`` without spaces at the ends of lines; no text in them steers a terminal."""
    console.width = max(console.width, NARROWEST)
    for line in console.render_lines(Group(*parts), pad=False):
        text = Text.assemble(*((printable(segment.text), segment.style or "") for segment in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def summary(statistics: RunStatistics, changes: Mapping[str, object] | None = None, samples: int = 1) -> Group:
    """A run of ``samples`` samples in words and tables: layers, totals, and the largest costs.

    ``changes`` are the keys of the chip that the user has set.
    """
    title = heading(statistics["network"], statistics["topology"], changes, samples, statistics["inferences"])
    if not statistics["layers"]:  # a program that nobody compiled
        return Group(title, "", totals(statistics))
    return Group(title, "", layer_table(statistics), "", totals(statistics), "", largest(statistics))


def heading(network: str, chip: str, changes: Mapping[str, object] | None, samples: int, inferences: int = 1) -> Text:
    """Which network on which chip."""
    how_many = "one inference" if inferences == 1 else f"{inferences:,} inferences"
    what_if = ", ".join(f"{key}={value}" for key, value in (changes or {}).items())
    return Text.assemble(
        (printable(network), "bold"),
        " on ",
        (printable(chip), "bold"),
        f" with {printable(what_if)}" if changes else "",
        f", {how_many}" if samples == 1 else f", {samples:,} samples together",
    )


def totals(statistics: RunStatistics) -> Table:
    """The numbers of the whole run; of work only if there are layers."""
    table = _columns("bold", "")
    rows = [*_times(statistics), *(_work(statistics) if statistics["layers"] else ())]
    rows += [("finding", sentence(finding)) for finding in statistics.get("findings", [])]
    for title, words in rows:
        table.add_row(title, Text(printable(words)))
    return table


def _times(statistics: RunStatistics) -> Iterator[tuple[str, str]]:
    clock_hz, cycles = statistics["clock_hz"], statistics["cycles"]
    several = statistics["inferences"] > 1
    for title, number, words in inference_rows(statistics) if several else [("latency", cycles, "")]:
        spelt = "" if number is None else f"{number:,} cycles = {duration(number, clock_hz)} "
        yield title, f"{spelt}{words}" if several else f"{spelt}at {frequency(clock_hz)}"
    if statistics["layers"] and not several:
        yield "throughput", f"{statistics['throughput_per_second']:,.1f} inferences a second, one at a time"
    load, again = statistics["load_cycles"], loads_between(statistics) if several else 0
    more = f", and again before {again:,} inferences, as a part of them" if again else ""
    if load or statistics["layers"]:
        yield "loading", f"{load:,} cycles = {duration(load, clock_hz)} for the parameters, once, before{more}"


def _work(statistics: RunStatistics) -> Iterator[tuple[str, str]]:
    layers = statistics["layers"]
    homes = Counter(layer["parameters"] for layer in layers if layer.get("parameters"))
    if set(homes) - {"copy", "partition"}:
        yield "parameters", ", ".join(f"{home}: {_layers(count)}" for home, count in homes.most_common())
    if streamed := statistics.get("streamed_bytes"):
        yield "streaming", f"{format_bytes(streamed)} of parameters from {_memory(statistics)}, during the run"
    if batching := statistics.get("batching"):
        yield "batches", _batches(batching)
    yield "MACs", f"{statistics['macs']:,}, {statistics['mac_utilisation']:.1%} of what the chip could do in that time"
    if words := energy_words(statistics):
        yield "energy", words
    tiles, busy = len(mac_arrays(statistics)), len(working(statistics))
    if busy < tiles:
        yield "tiles", f"{busy} of {tiles} compute, the others are idle"
    if statistics.get("partition") and (line := partition_words(statistics)):
        yield "partition", line
    if banded := [layer["bands"] for layer in layers if layer.get("bands", 1) > 1]:
        yield "row bands", f"{len(banded)} layers are made in up to {max(banded)} bands of rows, to fit the tiles"
    if at_host := [layer for layer in layers if layer.get("place") == "host"]:
        kinds = Counter(kind_words(layer["kind"]) for layer in at_host)
        yield "at host", ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _memory(statistics: RunStatistics) -> str:
    """Where parameters come from during a run."""
    return "weight memory" if "weight_memory" in statistics["chip"] else "data memory"


def _batches(batching: BatchingStatistics) -> str:
    """How inferences went together, and what it cost."""
    loads, peak = batching["weight_set_loads"], format_bytes(batching["peak_buffer_bytes"])
    chosen = _chosen(batching.get("predicted_cycles") or {})
    cost = f"weights of a layer fetched {loads:,} times; at most {peak} in the buffer"
    return f"schedule {batching['schedule']}{chosen}: {cost}"


def _chosen(predicted: Mapping[str, int]) -> str:
    """What a schedule was chosen from."""
    cycles = ", ".join(f"{schedule} {cycles:,}" for schedule, cycles in predicted.items())
    return f", the fastest as predicted (cycles: {cycles})" if predicted else ""


def _layers(count: int) -> str:
    return "1 layer" if count == 1 else f"{count} layers"


def largest(statistics: RunStatistics) -> RenderableType:
    """The largest costs in words, and the rest of the run."""
    table = _columns("right", "right", "")
    shown = costs(statistics)[:LARGEST]
    for cost in shown:
        table.add_row(share(cost.cycles, statistics), f"{cost.cycles:,} cycles", cost.what)
    rest = statistics["cycles"] - sum(cost.cycles for cost in shown)
    if rest:
        table.add_row(share(rest, statistics), f"{rest:,} cycles", "the rest")
    return Group(Text("Where the cycles of the MAC array go, largest first", "bold"), table)


def duration(cycles: int, clock_hz: int) -> str:
    """What ``cycles`` take at ``clock_hz``, for people."""
    return format_seconds(cycles / clock_hz)


def frequency(clock_hz: int) -> str:
    """A clock for people."""
    return f"{clock_hz / 1e6:,g} MHz"


def _columns(*styles: str) -> Table:
    """A grid of two spaces between columns, each aligned ``right`` or of a style."""
    table = Table.grid(padding=(0, 2))
    for style in styles:
        table.add_column(justify="right" if style == "right" else "left", style="" if style == "right" else style)
    return table
