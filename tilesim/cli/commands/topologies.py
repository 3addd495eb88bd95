"""``tilesim topologies``: the chips that come with tilesim, or every key of one chip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tilesim.api import list_topologies, load_topology
from tilesim.cli.output import tell_json
from tilesim.machines import SystolicTopology, TiledTopology, Topology
from tilesim.printable import printable
from tilesim.report.keys import Key, keys, spelt
from tilesim.report.terminal import frequency, has_width
from tilesim.tiled.topology import MODELLED
from tilesim.units import format_bytes

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
    tiled = [chip for chip in chips if isinstance(chip, TiledTopology)]
    systolic = [chip for chip in chips if isinstance(chip, SystolicTopology)]
    show(_table(TILED_COLUMNS, map(_tiled, tiled)), "", _table(SYSTOLIC_COLUMNS, map(_systolic, systolic)))


TILED_COLUMNS = ("name", "grid", "MACs", "clock", "narrow", "wide", "what")
SYSTOLIC_COLUMNS = ("name", "array", "MACs", "clock", "buffer", "weights", "what")


def _tiled(chip: TiledTopology) -> tuple[str, ...]:
    return (
        chip.name,
        f"{chip.grid.rows}x{chip.grid.columns}",
        f"{chip.tiles * chip.macs_per_cycle:,}",
        frequency(chip.clock_hz),
        format_bytes(chip.narrow_memory.size_bytes),
        format_bytes(chip.wide_memory.size_bytes),
        chip.description,
    )


def _systolic(chip: SystolicTopology) -> tuple[str, ...]:
    memory = chip.weight_memory
    return (
        chip.name,
        f"{chip.array.rows}x{chip.array.columns}",
        f"{chip.macs_per_cycle:,}",
        frequency(chip.clock_hz),
        format_bytes(chip.unified_buffer.size_bytes),
        f"{memory.clock_hz * memory.transfer_bytes / 1e9:,g} GB/s",
        chip.description,
    )


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, no_wrap=title != "what", justify="right" if title == "MACs" else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _keys_table(chip: Topology) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    widest = LONGEST_VALUE if has_width() else None
    for title in ("key", "value", "meaning"):
        table.add_column(title, no_wrap=title == "key", max_width=widest if title == "value" else None)
    for key in keys(chip):
        table.add_row(key.key, Text(printable(spelt(key))), Text(_explained(key, chip).meaning))
    return table


def _explained(key: Key, chip: Topology) -> Key:
    """A key whose meaning also says if there is no choice yet."""
    alone = isinstance(chip, TiledTopology) and key.key in MODELLED
    return key._replace(meaning=f"{key.meaning}; only {spelt(key)} so far") if alone else key
