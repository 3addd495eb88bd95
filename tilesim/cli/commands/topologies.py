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
from tilesim.machines.keys import Key, keys, spelt
from tilesim.machines.topology import Topology
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
        of_one = [_explained(key, chips[0])._asdict() for key in keys(chips[0])]
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
    from rich.table import Table

    summaries = [machine_of(chip).summary(chip) for chip in chips]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("name", *summaries[0], "what"):
        table.add_column(title, no_wrap=title != "what", justify="right" if title == "MACs" else "left")
    for chip, summary in zip(chips, summaries, strict=True):
        table.add_row(chip.name, *summary.values(), chip.description)
    return table


def _keys_table(chip: Topology) -> Table:
    from rich.table import Table
    from rich.text import Text

    from tilesim.report.terminal import has_width

    table = Table(box=None, pad_edge=False, header_style="bold")
    widest = LONGEST_VALUE if has_width() else None
    for title in ("key", "value", "meaning"):
        table.add_column(title, no_wrap=title == "key", max_width=widest if title == "value" else None)
    for key in keys(chip):
        table.add_row(key.key, Text(printable(spelt(key))), Text(_explained(key, chip).meaning))
    return table


def _explained(key: Key, chip: Topology) -> Key:
    """A key whose meaning also says if there is no choice yet."""
    alone = machine_of(chip).has_no_choice(key.key)
    return key._replace(meaning=f"{key.meaning}; only {spelt(key)} so far") if alone else key
