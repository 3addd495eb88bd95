"""``tilesim topologies``: the chips that come with tilesim, or every key of one chip."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim.api import list_topologies, load_topology
from tilesim.report.keys import Key, keys, spelt
from tilesim.tiled.topology import MODELLED, Topology
from tilesim.units import format_bytes

if TYPE_CHECKING:
    from rich.table import Table

LONGEST_VALUE = 16
"""Columns; longer ones are folded."""


def topologies(
    name: Annotated[
        str, typer.Argument(metavar="[NAME_OR_FILE]", help="The chip of which to show every key.", show_default=False)
    ] = "",
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List the chips that come with tilesim, or every key of one.

    MACs are those of a cycle, the narrow and wide memory those of one tile.
    """
    chips = [load_topology(each) for each in ([name] if name else list_topologies())]
    if json_:
        each = (_explained(key)._asdict() for key in keys(chips[0])) if name else (chip.model_dump() for chip in chips)
        typer.echo(json.dumps(list(each), indent=2))
        return
    from tilesim.report.terminal import show

    show(_keys_table(chips[0]) if name else _chips_table(chips))


def _chips_table(chips: list[Topology]) -> Table:
    from rich.table import Table

    from tilesim.report.terminal import frequency

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("name", "grid", "MACs", "clock", "narrow", "wide", "what"):
        table.add_column(title, no_wrap=title != "what", justify="right" if title == "MACs" else "left")
    for chip in chips:
        table.add_row(
            chip.name,
            f"{chip.grid.rows}x{chip.grid.columns}",
            f"{chip.tiles * chip.macs_per_cycle:,}",
            frequency(chip.clock_hz),
            format_bytes(chip.narrow_memory.size_bytes),
            format_bytes(chip.wide_memory.size_bytes),
            chip.description,
        )
    return table


def _keys_table(chip: Topology) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("key", "value", "meaning"):
        table.add_column(title, no_wrap=title == "key", max_width=LONGEST_VALUE if title == "value" else None)
    for key in keys(chip):
        table.add_row(key.key, Text(spelt(key)), Text(_explained(key).meaning))
    return table


def _explained(key: Key) -> Key:
    """A key whose meaning also says if there is no choice yet."""
    return key._replace(meaning=f"{key.meaning}; only {spelt(key)} so far") if key.key in MODELLED else key
