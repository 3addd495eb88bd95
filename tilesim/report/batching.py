"""Batches and schedules, as text that a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tilesim.batching.document import BatchingDocument, PlanDocument, WeightReuse
from tilesim.printable import printable
from tilesim.report.folding import folded, spelt
from tilesim.report.names import ending, short_name
from tilesim.report.terminal import frequency
from tilesim.units import format_bytes

NAME_WIDTH = 30
"""Columns for the name of a layer, so that a line fits 80."""
LONGEST_ORDER = 300
"""Characters of an order of layers."""


def batch_summary(document: BatchingDocument) -> Group:
    """The document of ``tilesim batch`` in words and tables."""
    title = Text.assemble(
        (printable(document["network"]), "bold"),
        " on ",
        (printable(document["topology"]), "bold"),
        f", {_inferences(document['inferences'])}",
    )
    return Group(
        title,
        "",
        Text(_reuse_words(document["weight_reuse"])),
        Text(_batch_words(document["power_of_two"])),
        "",
        _layer_table(document),
        "",
        _schedule_table(document),
        "",
        _orders(document["schedules"]),
    )


def _reuse_words(reuse: WeightReuse) -> str:
    """The weight reuse value, and where it comes from."""
    memory, chip = frequency(reuse["memory_clock_hz"]), frequency(reuse["clock_hz"])
    why = (
        f"{reuse['rows']} x {reuse['columns']} cells hold {reuse['tile_bytes']:,} bytes of weights; their memory "
        f"brings {reuse['channels']} x {reuse['channel_bytes']} bytes at {memory}, so they take "
        f"{reuse['chip_value']:,.2f} cycles at {chip}"
    )
    if reuse["given"]:
        return f"A weight is to be used {reuse['value']:,.6g} times, as asked for. (Of this chip: {why}.)"
    return f"A weight must be used {reuse['value']:,.2f} times while the next ones come: {why}."


def _batch_words(power_of_two: bool) -> str:
    rounded = "rounded up to a power of two" if power_of_two else "rounded up"
    return f"A layer's batch is that number over the uses in one inference, {rounded}."


def _layer_table(document: BatchingDocument) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("layer with weights", no_wrap=True)
    for title in ("weights", "uses", "batch", "to 2^n"):
        table.add_column(title, justify="right", no_wrap=True)
    for layer in document["layers"]:
        table.add_row(
            str(layer["layer"]),
            Text(ending(short_name(layer["name"]), NAME_WIDTH)),
            format_bytes(layer["weight_bytes"]),
            f"{layer['reuse']:,}",
            f"{layer['batch']:,}",
            f"{layer['batch_power_of_two']:,}",
        )
    return table


def _schedule_table(document: BatchingDocument) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("schedule", no_wrap=True)
    for title in ("batches", "weight loads", "weights", "peak buffer"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column(f"fits {format_bytes(document['room_bytes'])}")
    for plan in document["schedules"]:
        table.add_row(
            plan["schedule"],
            f"{len(plan['steps']):,}",
            f"{plan['weight_set_loads']:,}",
            format_bytes(plan["weight_bytes"]),
            format_bytes(plan["peak_buffer_bytes"]),
            f"with {plan['fitted']}" if plan["fitted"] else "yes" if plan["fits"] else "no",
        )
    return table


def _orders(plans: Sequence[PlanDocument]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("schedule", no_wrap=True)
    table.add_column("order of layers")
    for plan in plans:
        words = spelt(folded([step["layer"] for step in plan["steps"]]))
        table.add_row(plan["schedule"], words if len(words) <= LONGEST_ORDER else f"{words[:LONGEST_ORDER]}...")
    return table


def _inferences(count: int) -> str:
    return "one inference" if count == 1 else f"{count:,} inferences"
