"""The layers of a run, a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from tilesim.printable import printable
from tilesim.report.costs import cause_words, kind_word
from tilesim.report.names import Ending, short_name
from tilesim.statistics import LayerStatistics, RunStatistics

NAME_WIDTH = 40


def layer_table(statistics: RunStatistics) -> Table:
    """A line a layer, with its number in its network; then what makes them add up to the run."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("layer", max_width=NAME_WIDTH)
    table.add_column("kind")
    for title in ("MACs", "cycles", "of run", "in use"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("bound by", no_wrap=True)
    several = len({layer["network"] for layer in statistics["layers"]}) > 1
    before: Counter[str] = Counter()
    for layer in statistics["layers"]:
        network = layer["network"]
        if several and not before[network]:
            table.add_row("", Ending(printable(network)), style="bold")
        name, kind = Ending(short_name(layer["name"])), _cut(kind_word(layer["kind"]))
        table.add_row(str(before[network]), name, kind, *_numbers(layer, statistics))
        before[network] += 1
    for what, cycles in _beside_layers(statistics):
        if cycles:
            table.add_row("", _cut(what), "", "-", f"{cycles:,}", share(cycles, statistics), "-", cause_words(None))
    table.add_row("", _cut("total"), "", *_numbers(statistics, statistics), style="bold")
    return table


def _beside_layers(statistics: RunStatistics) -> Iterator[tuple[str, int]]:
    """What makes the layers' cycles add up to the run's. Where they are sums over several inferences, nobody can tell
    both from each other; of a systolic array no two layers have the same cycle.
    """
    layers, cycles = statistics["layers"], statistics["cycles"]
    in_layers, total = covered_cycles(layers), sum(layer["cycles"] for layer in layers)
    if statistics["inferences"] > 1 or statistics["machine"] == "systolic":
        yield ("outside layers" if cycles > total else "overlap"), cycles - total
        return
    yield "outside layers", cycles - in_layers
    yield "overlap", in_layers - total


def covered_cycles(layers: Sequence[LayerStatistics]) -> int:
    """Cycles in which some layer is at work."""
    covered = end = 0
    for layer in sorted(layers, key=lambda layer: layer["start_cycle"]):
        start, stop = layer["start_cycle"], layer["start_cycle"] + layer["cycles"]
        covered += max(0, stop - max(start, end))
        end = max(end, stop)
    return covered


def _numbers(layer: LayerStatistics | RunStatistics, statistics: RunStatistics) -> Iterator[str]:
    cycles, macs = layer["cycles"], layer["macs"]
    yield f"{macs:,}" if macs else "-"
    yield f"{cycles:,}" if cycles else "-"
    yield share(cycles, statistics) if cycles else "-"
    yield f"{layer['mac_utilisation']:.1%}" if macs and cycles else "-"
    yield cause_words(layer["bound_by"])


def share(cycles: int, statistics: RunStatistics) -> str:
    """How much of the run ``cycles`` are."""
    return f"{cycles / statistics['cycles']:.1%}"


def _cut(name: str) -> Text:
    """A name that ends in an ellipsis where there is no room for all of it."""
    return Text(name, no_wrap=True, overflow="ellipsis")
