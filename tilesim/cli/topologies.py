"""``tilesim topologies``: the chips that come with tilesim."""

from __future__ import annotations

from tilesim.api import list_topologies, load_topology
from tilesim.units import format_bytes


def topologies() -> None:
    """List the chips that come with tilesim.

    MACs are those of a cycle, the narrow and wide memory those of one tile.
    """
    from rich.console import Console
    from rich.table import Table

    from tilesim.report.terminal import frequency

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("name", "grid", "MACs", "clock", "narrow", "wide", "what"):
        table.add_column(title, no_wrap=title != "what", justify="right" if title == "MACs" else "left")
    for name in list_topologies():
        chip = load_topology(name)
        table.add_row(
            name,
            f"{chip.grid.rows}x{chip.grid.columns}",
            f"{chip.tiles * chip.macs_per_cycle:,}",
            frequency(chip.clock_hz),
            format_bytes(chip.narrow_memory.size_bytes),
            format_bytes(chip.wide_memory.size_bytes),
            chip.description,
        )
    Console(highlight=False).print(table)
