"""``tilesim topologies``: the chips that come with tilesim, or every key of one chip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim.api import list_topologies, load_topology
from tilesim.cli.output import tell_json
from tilesim.machines.topology import Key, Topology, keys, spelt
from tilesim.printable import printable
from tilesim.registry import MACHINES, machine_of

if TYPE_CHECKING:
    from rich.table import Table

LONGEST_VALUE = 16
"""Columns of a terminal; longer ones are folded."""


def command(
    name: Annotated[
        str, typer.Argument(metavar="[NAME_OR_FILE]", help="The chip of which to show every key.", show_default=False)
    ] = "",
    json_: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List the chips that come with tilesim, or every key of one.

    MACs are those of a cycle, the narrow and wide memory those of one tile; weights are what weight memory delivers.
    """
    chips = [load_topology(each) for each in ([name] if name else list_topologies())]
    if json_:
        each = (
            (_explained(key, chips[0])._asdict() for key in keys(chips[0])) if name else (c.model_dump() for c in chips)
        )
        tell_json(list(each))
        return
    from tilesim.report.terminal import show

    if name:
        show(_keys_table(chips[0]))
        return
    of_machines = [[chip for chip in chips if chip.machine == machine] for machine in MACHINES]
    show(*[part for alike in of_machines if alike for part in ("", _table(alike))][1:])


def _table(chips: Sequence[Topology]) -> Table:
    """Chips of one machine."""
    from rich.table import Column

    from tilesim.report.tables import folded, left, right, table

    summaries = [machine_of(chip).summary(chip) for chip in chips]
    titles: list[Column] = []
    for title in ("name", *summaries[0]):
        titles += right(title) if title == "MACs" else left(title)
    lines = table(*titles, *folded("what"))
    for chip, summary in zip(chips, summaries, strict=True):
        lines.add_row(chip.name, *summary.values(), chip.description)
    return lines


def _keys_table(chip: Topology) -> Table:
    from rich.text import Text

    from tilesim.report.tables import folded, left, table
    from tilesim.report.terminal import has_width

    widest = LONGEST_VALUE if has_width() else None
    lines = table(*left("key"), *folded("value", most=widest), *folded("meaning"))
    for key in keys(chip):
        lines.add_row(key.key, Text(printable(spelt(key))), Text(_explained(key, chip).meaning))
    return lines


def _explained(key: Key, chip: Topology) -> Key:
    """A key whose meaning also says if there is no choice yet."""
    alone = machine_of(chip).has_no_choice(key.key)
    return key._replace(meaning=f"{key.meaning}; only {spelt(key)} so far") if alone else key
