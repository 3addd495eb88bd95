"""``tilesim topologies``: the chips that come with tilesim, or every key of one chip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim.api import list_topologies, load_topology
from tilesim.budgets import LARGEST_YAML_BYTES
from tilesim.cli.output import JsonOption, tell, tell_json
from tilesim.errors import InputError
from tilesim.files import read_text
from tilesim.machines.topology import Topology, keys, spelt
from tilesim.printable import printable
from tilesim.registry import MACHINES, machine_of
from tilesim.shipped import located

if TYPE_CHECKING:
    from rich.table import Table

LONGEST_VALUE = 16
"""Columns of a terminal; longer ones are folded."""


def command(
    name: Annotated[
        str, typer.Argument(metavar="NAME_OR_FILE", help="The chip of which to show every key.", show_default=False)
    ] = "",
    json_: JsonOption = False,
    yaml: Annotated[bool, typer.Option("--yaml", help="Print the file of one chip as it is.")] = False,
) -> None:
    """List the chips that come with tilesim, or every key of one.

    MACs are those of a cycle, the narrow and wide memory those of one tile; weights are what weight memory delivers.
    """
    if yaml and (json_ or not name):
        raise InputError(f"--yaml must {'be left out with --json' if json_ else 'have the name of a chip beside it'}")
    chips = [load_topology(one) for one in ([name] if name else list_topologies())]
    if yaml:
        tell(*read_text(located(name, "topologies"), LARGEST_YAML_BYTES, InputError).splitlines())
        return
    if json_:
        of_one = [key._asdict() for key in keys(chips[0])]
        tell_json(of_one if name else [chip.model_dump() for chip in chips])
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
        lines.add_row(key.key, Text(printable(spelt(key))), Text(key.meaning))
    return lines
