"""A run as text that a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tilesim.report.costs import Statistics, costs, kind_words, mac_arrays, working

LARGEST = 3


def show_run(statistics: Statistics, console: Console) -> None:
    """Print the summary of a run: layers, totals, and the largest costs."""
    console.print(
        Group(heading(statistics), "", layer_table(statistics), "", totals(statistics), "", largest(statistics))
    )


def heading(statistics: Statistics) -> Text:
    """Which network on which chip."""
    return Text.assemble(
        (printable(statistics["network"]), "bold"),
        " on ",
        (printable(statistics["topology"]), "bold"),
        ", one inference",
    )


def totals(statistics: Statistics) -> Table:
    """The numbers of the whole run."""
    table = _columns("bold", "")
    clock_hz, cycles = statistics["clock_hz"], statistics["cycles"]
    table.add_row("latency", f"{cycles:,} cycles = {duration(cycles, clock_hz)} at {frequency(clock_hz)}")
    load = statistics["load_cycles"]
    table.add_row("loading", f"{load:,} cycles = {duration(load, clock_hz)} for the parameters, once, before")
    table.add_row(
        "MACs", f"{statistics['macs']:,}, {statistics['mac_utilisation']:.1%} of what the chip could do in that time"
    )
    tiles, busy = len(mac_arrays(statistics)), len(working(statistics))
    if busy < tiles:
        table.add_row("tiles", f"{busy} of {tiles} compute, the others are idle")
    for finding in statistics["findings"]:
        table.add_row("finding", Text(printable(str(finding))))
    return table


def largest(statistics: Statistics) -> RenderableType:
    """The largest costs in words."""
    table = _columns("right", "right", "")
    for cost in costs(statistics)[:LARGEST]:
        table.add_row(f"{cost.share:.1%}", f"{cost.cycles:,} cycles", cost.what)
    return Group(Text("Where the cycles of the MAC array go, largest first", "bold"), table)


def layer_table(statistics: Statistics) -> Table:
    """A line a layer."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("layer", no_wrap=True, overflow="ellipsis", ratio=1, max_width=40)
    table.add_column("kind", no_wrap=True)
    for title in ("MACs", "cycles", "of run", "MACs used"):
        table.add_column(title, justify="right", no_wrap=True)
    for layer in statistics["layers"]:
        table.add_row(
            Text(short_name(layer["name"])), kind_words(layer["kind"]), *_numbers(layer, statistics["cycles"])
        )
    return table


def short_name(name: str) -> str:
    """What tells a layer from the others in the long names that converters make.

    TensorFlow joins the names of all that it fused with semicolons, ends each with operations in capitals
    (``model/conv2d_1/BiasAdd``) and begins it with the model; ONNX Runtime's quantiser adds the name of its operator.
    """
    last = printable(name).rsplit(";", 1)[-1].removesuffix("_QuantizeLinear_Output")
    words = last.strip("/").split("/")
    inner = list(takewhile(lambda word: not word[:1].isupper(), words[1:] if len(words) > 2 else words))
    return "/".join(dict.fromkeys(inner)) or last


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


def _numbers(layer: dict[str, Any], run_cycles: int) -> Iterator[str]:
    cycles, macs = layer["cycles"], layer["macs"]
    yield f"{macs:,}" if macs else "-"
    yield f"{cycles:,}" if cycles else "-"
    yield f"{cycles / run_cycles:.1%}" if cycles else "-"
    yield f"{layer['mac_utilisation']:.1%}" if macs and cycles else "-"


def _columns(*styles: str) -> Table:
    """A grid of two spaces between columns, each aligned ``right`` or of a style."""
    table = Table.grid(padding=(0, 2))
    for style in styles:
        table.add_column(justify="right" if style == "right" else "left", style="" if style == "right" else style)
    return table
