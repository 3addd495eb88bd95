"""A run as text that a person reads in a terminal."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from rich.console import Console, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from tilesim.findings import sentence
from tilesim.printable import counted, printable
from tilesim.registry import description_of
from tilesim.report.analysis.layers import LayerRow, beside, costs, layers, mac_arrays, total, working
from tilesim.report.tables import folded, grid, left, right, table
from tilesim.report.words import Ending, energy_words, host_steps_words, instant_words, kind_word, kind_words
from tilesim.statistics import BatchingStatistics, PartitionCandidate, RunStatistics
from tilesim.units import format_bytes, format_hertz, format_seconds

NAMED_SHARE = 0.9
"""So much of a run is said in words, at least."""
NAMED_OTHERS = 2
"""Of the rest, so many parts."""
NAME_WIDTH = 40
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


def columns() -> int:
    """How many there are for what is laid out by hand."""
    return max(Console().width, NARROWEST) if has_width() else WIDEST


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


# ---- layers


def layer_table(statistics: RunStatistics) -> Table:
    """A line a layer, with its number in its network, then what belongs to none: cycles of the average MAC array, which
    add up to the run's.
    """
    rows = table(
        *right(""), *folded("layer", most=NAME_WIDTH), *folded("kind"), *right("MACs", "cycles", "of run", "in use"),
        *left("bound by"),
    )  # fmt: skip
    several = len({layer["network"] for layer in statistics["layers"]}) > 1
    before: Counter[str] = Counter()
    of_layers = layers(statistics)
    for layer in of_layers:
        if several and not before[layer.network]:
            rows.add_row("", Ending(printable(layer.network)), style="bold")
        kind = kind_word(statistics["layers"][layer.index or 0]["kind"])
        rows.add_row(str(before[layer.network]), Ending(layer.name), _cut(kind), *_numbers(layer))
        before[layer.network] += 1
    rest = beside(statistics, of_layers)
    if rest.array_cycles:
        rows.add_row("", _cut(rest.name), "", *_numbers(replace(rest, macs=0)))
    rows.add_row("", _cut("total"), "", *_numbers(total(statistics)), style="bold")
    return rows


def _numbers(row: LayerRow) -> Iterator[str]:
    cycles, macs = row.array_cycles, row.macs
    yield f"{macs:,}" if macs else "-"
    yield f"{cycles:,}" if cycles else "-"
    yield f"{row.of_run:.1%}" if cycles else "-"
    yield f"{row.in_use:.1%}" if macs and cycles else "-"
    yield row.bound_words


def share(cycles: int, statistics: RunStatistics) -> str:
    """How much of the run ``cycles`` are."""
    return f"{cycles / statistics['cycles']:.1%}"


def _cut(name: str) -> Text:
    """A name that ends in an ellipsis where there is no room for all of it."""
    return Text(name, no_wrap=True, overflow="ellipsis")


# ---- totals


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
    lines = grid(Column(style="bold"), Column())
    rows = [*_times(statistics), *(_work(statistics) if statistics["layers"] else ())]
    if instant := instant_words(statistics):
        rows.append(("what if", instant))
    rows += [("host step", words) for words in host_steps_words(statistics)]
    rows += [("finding", sentence(finding)) for finding in statistics.get("findings", [])]
    for title, words in rows:
        lines.add_row(title, Text(printable(words)))
    return lines


def _times(statistics: RunStatistics) -> Iterator[tuple[str, str]]:
    clock_hz, cycles = statistics["clock_hz"], statistics["cycles"]
    several = statistics["inferences"] > 1
    for title, number, words in inference_rows(statistics) if several else [("latency", cycles, "")]:
        spelt = "" if number is None else f"{number:,} cycles = {duration(number, clock_hz)} "
        yield title, f"{spelt}{words}" if several else f"{spelt}at {format_hertz(clock_hz)}"
    if statistics["layers"] and not several:
        yield "throughput", f"{statistics['throughput_per_second']:,.1f} inferences a second, one at a time"
    load, again = statistics["load_cycles"], loads_between(statistics) if several else 0
    more = f", and again before {again:,} inferences, as a part of them" if again else ""
    if load or statistics["layers"]:
        yield "loading", f"{load:,} cycles = {duration(load, clock_hz)} for the parameters, once, before{more}"


def inference_rows(statistics: RunStatistics) -> Iterator[tuple[str, int | None, str]]:
    """What to say of a run of several inferences: a title, cycles or None, and words that follow them."""
    requests = statistics["requests"]
    networks = list(dict.fromkeys(request["network"] for request in requests))
    first = requests[0]
    whose = f", of {first['network']}" if len(networks) > 1 else ""
    yield "latency", first["latency_cycles"], f"for the first inference{whose}"
    for network in networks:
        later = [request["latency_cycles"] for request in requests[1:] if request["network"] == network]
        if later:
            yield "", round(sum(later) / len(later)), f"for each later one{f' of {network}' * (len(networks) > 1)}"
    batched = statistics.get("batching")
    what = "for each, on average over all of them" if batched else "between the last words of one and the next"
    if (interval := statistics.get("interval_cycles")) is not None:
        yield "interval", round(interval), what
    yield "throughput", None, f"{statistics['throughput_per_second']:,.1f} inferences a second"
    yield "in all", statistics["cycles"], f"for {len(requests):,} inferences"


def loads_between(statistics: RunStatistics) -> int:
    """How many inferences had to load their parameters again while others were under way."""
    seen: set[str] = set()
    again = 0
    for request in statistics["requests"]:
        again += request.get("loaded", False) and request["network"] in seen
        seen.add(request["network"])
    return again


def _work(statistics: RunStatistics) -> Iterator[tuple[str, str]]:
    layers = statistics["layers"]
    homes = Counter(layer["parameters"] for layer in layers if layer.get("parameters"))
    if set(homes) - {"copy", "partition"}:
        yield "parameters", ", ".join(f"{home}: {counted(count, 'layer')}" for home, count in homes.most_common())
    if streamed := statistics.get("streamed_bytes"):
        memory = description_of(statistics["machine"]).parameter_memory
        yield "streaming", f"{format_bytes(streamed)} of parameters from {memory}, during the run"
    if batching := statistics.get("batching"):
        yield "batches", batch_words(batching)
    yield "MACs", f"{statistics['macs']:,}, {statistics['mac_utilisation']:.1%} of what the chip could do in that time"
    if words := energy_words(statistics):
        yield "energy", words
    tiles, busy = len(mac_arrays(statistics)), len(working(statistics))
    if busy < tiles:
        yield "tiles", f"{busy} of {tiles} compute; the MAC arrays of the others are idle all the time"
    if line := partition_words(statistics):
        yield "partition", line
    if banded := [layer["bands"] for layer in layers if layer.get("bands", 1) > 1]:
        bands = f"{len(banded)} layers are made in up to {max(banded)} bands of rows, to fit the tiles"
        yield "row bands", bands + _band_bytes(statistics)
    if at_host := [layer for layer in layers if layer.get("place") == "host"]:
        kinds = Counter(kind_words(layer["kind"]) for layer in at_host)
        yield "at host", ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _band_bytes(statistics: RunStatistics) -> str:
    """What crosses the host's link because bands of rows come from it."""
    steps = [step for step in statistics.get("host_steps", ()) if step["kind"] in ("slice", "concatenation")]
    if not steps:
        return ""
    from_chip, to_chip = (sum(step[way] for step in steps) for way in ("from_chip_bytes", "to_chip_bytes"))
    return f"; the host cuts bands and puts them together, {from_chip:,} bytes from the chip, {to_chip:,} to it"


def partition_words(statistics: RunStatistics) -> str:
    """What was asked for, what came of it, and what was tried; nothing if all is as it is without asking."""
    known = statistics.get("partition")
    if not known:
        return ""
    by_channel = [layer for layer in known["layers"] if layer["choice"] == "channel"]
    vectors = [layer for layer in by_channel if statistics["layers"][layer["layer"]]["kind"] == "fullyconnected"]
    if known["asked"] in {"", "mixed"} and len(by_channel) == len(vectors):
        return ""
    words = f"{known['asked']}: {len(by_channel)} of {len(known['layers'])} layers by channel"
    return f"{words}{_tried(known['candidates'])}"


def _tried(candidates: list[PartitionCandidate]) -> str:
    ran = [candidate for candidate in candidates if candidate["cycles"] >= 0]
    if not ran:
        return ""
    fastest = min(ran, key=lambda candidate: candidate["cycles"])
    names = f"; fastest of {len(candidates)} tried was {fastest['name']}"
    first = candidates[0]
    if first is fastest or first["cycles"] < 0:
        return names
    return f"{names}, by {1 - fastest['cycles'] / first['cycles']:.1%} over {first['name']}"


def batch_words(batching: BatchingStatistics) -> str:
    """How inferences went together, what that was chosen from, and what it cost."""
    loads, peak = batching["weight_set_loads"], format_bytes(batching["peak_buffer_bytes"])
    predicted = ", ".join(f"{schedule} {n:,}" for schedule, n in (batching.get("predicted_cycles") or {}).items())
    chosen = f", the fastest as predicted (cycles: {predicted})" if predicted else ""
    cost = f"weights of a layer fetched {loads:,} times; at most {peak} in the buffer"
    return f"schedule {batching['schedule']}{chosen}: {cost}"


def largest(statistics: RunStatistics) -> RenderableType:
    """The largest costs in words, so many that the rest of the run is small."""
    lines = grid(*right("", ""), Column())
    every = costs(statistics)
    sums = accumulate(cycles for cycles, _ in every)
    enough = 1 + sum(total < NAMED_SHARE * statistics["cycles"] for total in sums)
    shown = every[:enough]
    for cycles, what in shown:
        lines.add_row(share(cycles, statistics), f"{cycles:,} cycles", what)
    rest = statistics["cycles"] - sum(cycles for cycles, _ in shown)
    if rest:
        lines.add_row(share(rest, statistics), f"{rest:,} cycles", _rest_words(every[enough:], statistics))
    return Group(Text("Where the cycles of the MAC array go, largest first", "bold"), lines)


def duration(cycles: int, clock_hz: int) -> str:
    """What ``cycles`` take at ``clock_hz``, for people."""
    return format_seconds(cycles / clock_hz)


def _rest_words(others: Sequence[tuple[int, str]], statistics: RunStatistics) -> str:
    """What the rest of a run is, the largest parts by name."""
    named = [f"{share(cycles, statistics)} {what}" for cycles, what in others[:NAMED_OTHERS]]
    more = [f"{len(others) - NAMED_OTHERS} more"] if len(others) > NAMED_OTHERS else []
    return f"the rest: {', '.join([*named, *more])}" if named else "the rest"
