"""A run as text that a person reads in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.report.costs import Statistics, cause_words, costs, kind_words, mac_arrays, working
from tilesim.report.inferences import inference_rows, loads_between
from tilesim.report.partition import partition_words
from tilesim.tiled.rules.monitor import sentence

LARGEST = 3
NARROWEST = 80
"""Columns below which nothing gets shorter, so that numbers stay whole: the terminal folds the lines."""


def show(*parts: RenderableType) -> None:
    """Print on standard output, as wide as the terminal is, without spaces at the ends of lines."""
    print_on(Console(highlight=False), *parts)


def print_on(console: Console, *parts: RenderableType) -> None:
    """Print on ``console`` without spaces at the ends of lines."""
    options = console.options.update(width=max(console.width, NARROWEST))
    for line in console.render_lines(Group(*parts), options, pad=False):
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def summary(statistics: Statistics, changes: Mapping[str, object] | None = None, samples: int = 1) -> Group:
    """A run of ``samples`` samples in words and tables: layers, totals, and the largest costs.

    ``changes`` are the keys of the chip that the user has set.
    """
    title = heading(statistics["network"], statistics["topology"], changes, samples, statistics["inferences"])
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


def totals(statistics: Statistics) -> Table:
    """The numbers of the whole run."""
    table = _columns("bold", "")
    clock_hz, cycles = statistics["clock_hz"], statistics["cycles"]
    several = statistics["inferences"] > 1
    for title, number, words in inference_rows(statistics) if several else [("latency", cycles, "")]:
        spelt = "" if number is None else f"{number:,} cycles = {duration(number, clock_hz)} "
        table.add_row(title, f"{spelt}{words}" if several else f"{spelt}at {frequency(clock_hz)}")
    load, again = statistics["load_cycles"], loads_between(statistics) if several else 0
    more = f", and again before {again:,} inferences, as a part of them" if again else ""
    table.add_row("loading", f"{load:,} cycles = {duration(load, clock_hz)} for the parameters, once, before{more}")
    table.add_row(
        "MACs", f"{statistics['macs']:,}, {statistics['mac_utilisation']:.1%} of what the chip could do in that time"
    )
    tiles, busy = len(mac_arrays(statistics)), len(working(statistics))
    if busy < tiles:
        table.add_row("tiles", f"{busy} of {tiles} compute, the others are idle")
    if line := partition_words(statistics):
        table.add_row("partition", Text(printable(line)))
    if at_host := [layer for layer in statistics["layers"] if layer.get("place") == "host"]:
        kinds = Counter(kind_words(layer["kind"]) for layer in at_host)
        table.add_row("at host", ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    for finding in statistics["findings"]:
        table.add_row("finding", Text(printable(sentence(finding))))
    return table


def largest(statistics: Statistics) -> RenderableType:
    """The largest costs in words, and the rest of the run."""
    table = _columns("right", "right", "")
    shown = costs(statistics)[:LARGEST]
    for cost in shown:
        table.add_row(_share(cost.cycles, statistics), f"{cost.cycles:,} cycles", cost.what)
    rest = statistics["cycles"] - sum(cost.cycles for cost in shown)
    if rest:
        table.add_row(_share(rest, statistics), f"{rest:,} cycles", "the rest")
    return Group(Text("Where the cycles of the MAC array go, largest first", "bold"), table)


def layer_table(statistics: Statistics) -> Table:
    """A line a layer, then what makes them add up to the run."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("layer", max_width=40)
    table.add_column("kind")
    for title in ("MACs", "cycles", "of run", "MACs used"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("bound by", no_wrap=True)
    networks = [layer.get("network") for layer in statistics["layers"]]
    for k, layer in enumerate(statistics["layers"]):
        if len(set(networks)) > 1 and networks[k] not in networks[:k]:
            table.add_row(_cut(printable(layer["network"])), style="bold")
        table.add_row(_cut(short_name(layer["name"])), _cut(kind_words(layer["kind"])), *_numbers(layer, statistics))
    for what, cycles in _beside_layers(statistics):
        if cycles:
            table.add_row(_cut(what), "", *_numbers({"cycles": cycles, "macs": 0, "bound_by": None}, statistics))
    table.add_row(_cut("total"), "", *_numbers(statistics, statistics), style="bold")
    return table


def _beside_layers(statistics: Statistics) -> Iterator[tuple[str, int]]:
    """What makes the layers' cycles add up to the run's. Where they are sums over several inferences, nobody can tell
    both from each other.
    """
    layers, cycles = statistics["layers"], statistics["cycles"]
    in_layers, total = covered_cycles(layers), sum(layer["cycles"] for layer in layers)
    if statistics["inferences"] > 1:
        yield ("outside layers" if cycles > total else "overlap"), cycles - total
        return
    yield "outside layers", cycles - in_layers
    yield "overlap", in_layers - total


def covered_cycles(layers: Sequence[Statistics]) -> int:
    """Cycles in which some layer is at work."""
    covered = end = 0
    for layer in sorted(layers, key=lambda layer: int(layer["start_cycle"])):
        start, stop = layer["start_cycle"], layer["start_cycle"] + layer["cycles"]
        covered += max(0, stop - max(start, end))
        end = max(end, stop)
    return covered


def short_name(name: str) -> str:
    """What tells a layer from the others in the long names that converters make.

    TensorFlow joins the names of all that it fused with semicolons, what comes out last first and constants that
    layers share among them; it ends each with operations in capitals (``model/conv2d_1/BiasAdd``) and begins it with
    the model. ONNX Runtime's quantiser adds the name of its operator.
    """
    fused = [_words(each) for each in printable(name).split(";")]
    others = [words for words in fused if words != fused[0]] or fused
    words = max(reversed(others), key=lambda words: _shared(fused[0], words))
    inner = words[1:] if len(words) > 2 else words
    return "/".join(dict.fromkeys([*inner[:1], *takewhile(lambda word: not word[:1].isupper(), inner[1:])]))


def _shared(a: list[str], b: list[str]) -> int:
    """How many words two names have in common, from the first."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _words(name: str) -> list[str]:
    words = name.removesuffix("_QuantizeLinear_Output").strip("/").split("/")
    return words[1:] if len(words) > 1 and words[0] == "StatefulPartitionedCall" else words


def printable(text: str) -> str:
    """``text`` without what would steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def duration(cycles: int, clock_hz: int) -> str:
    """What ``cycles`` take at ``clock_hz``, for people."""
    us = cycles * 1e6 / clock_hz
    return f"{us:,.1f} us" if us < 10_000 else f"{us / 1000:,.1f} ms"


def frequency(clock_hz: int) -> str:
    """A clock for people."""
    return f"{clock_hz / 1e6:,g} MHz"


def _numbers(layer: Mapping[str, Any], statistics: Statistics) -> Iterator[str]:
    cycles, macs = layer["cycles"], layer["macs"]
    yield f"{macs:,}" if macs else "-"
    yield f"{cycles:,}" if cycles else "-"
    yield _share(cycles, statistics) if cycles else "-"
    yield f"{layer['mac_utilisation']:.1%}" if macs and cycles else "-"
    yield cause_words(layer["bound_by"])


def _share(cycles: int, statistics: Statistics) -> str:
    return f"{cycles / statistics['cycles']:.1%}"


def _cut(name: str) -> Text:
    """A name that ends in an ellipsis where there is no room for all of it."""
    return Text(name, no_wrap=True, overflow="ellipsis")


def _columns(*styles: str) -> Table:
    """A grid of two spaces between columns, each aligned ``right`` or of a style."""
    table = Table.grid(padding=(0, 2))
    for style in styles:
        table.add_column(justify="right" if style == "right" else "left", style="" if style == "right" else style)
    return table
