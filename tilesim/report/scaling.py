"""One network on several chips, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from tilesim.printable import printable
from tilesim.report.costs import cause_words, mac_arrays
from tilesim.statistics import RunStatistics

COLUMNS = ("tiles", "cycles", "speed-up", "efficiency", "MACs used")


@dataclass(frozen=True)
class Scaling:
    """What a chip makes of a network that another chip runs too.

    ``speed_up``: the other's latency over this one's, in time, since their clocks may differ. ``efficiency``: how much
    of the speed-up that so many times as many tiles could give.
    """

    speed_up: float
    efficiency: float


def scaling(first: RunStatistics, statistics: RunStatistics) -> Scaling:
    """How a run compares with the ``first`` one, of the same network."""
    speed_up = first["latency_us"] / statistics["latency_us"]
    return Scaling(speed_up, speed_up * tiles(first) / tiles(statistics))


def tiles(statistics: RunStatistics) -> int:
    """The tiles of the chip, at work or not; 1 of a machine whose MAC arrays no role describes."""
    return len(mac_arrays(statistics)) or 1


@dataclass(frozen=True)
class Row:
    """A chip of ``tiles`` tiles, and its run; None if the network does not fit it."""

    topology: str
    tiles: int
    statistics: RunStatistics | None


def scaling_table(rows: Sequence[Row]) -> Table:
    """A line a chip; speed-up and efficiency are over the first that the network fits."""
    first = next((row.statistics for row in rows if row.statistics is not None), None)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("topology")
    for title in COLUMNS:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("bound by", no_wrap=True)
    for row in rows:
        name = Text(printable(row.topology), no_wrap=True, overflow="ellipsis")
        table.add_row(name, f"{row.tiles:,}", *_numbers(row.statistics, first))
    return table


def _numbers(statistics: RunStatistics | None, first: RunStatistics | None) -> Iterator[str]:
    if statistics is None or first is None:
        yield from (*("-" for _ in COLUMNS[1:]), "does not fit")
        return
    against_first = scaling(first, statistics)
    yield f"{statistics['cycles']:,}"
    yield f"{against_first.speed_up:.2f} x"
    yield f"{against_first.efficiency:.0%}"
    yield f"{statistics['mac_utilisation']:.1%}"
    yield cause_words(statistics["bound_by"])
